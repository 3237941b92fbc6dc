import type { ReactNode } from 'react'
import { classNames } from './class-names.ts'
import styles from './Figure.module.css'
import type { Tone } from './status-look.ts'

export interface FigureProps {
  readonly label: string
  readonly value: ReactNode
  /** One line below: what the figure is made of, or what it should be. */
  readonly note?: ReactNode
  /** Only where it says something: a figure as it should be has no colour. */
  readonly tone?: Tone | undefined
  readonly children?: ReactNode
}

/** One number that a person looks for, with its name. */
export function Figure({ label, value, note, tone, children }: FigureProps) {
  return (
    <div className={classNames(styles.figure, tone !== undefined && styles[tone])}>
      <dt className={styles.label}>{label}</dt>
      <dd className={styles.value}>{value}</dd>
      {note !== undefined && <dd className={styles.note}>{note}</dd>}
      {children !== undefined && <dd className={styles.more}>{children}</dd>}
    </div>
  )
}

export function Figures({ children }: { readonly children: ReactNode }) {
  return <dl className={styles.figures}>{children}</dl>
}
