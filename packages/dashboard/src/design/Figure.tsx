import type { CSSProperties, ReactNode } from 'react'
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
}

/** One number that a person looks for, with its name. */
export function Figure({ label, value, note, tone }: FigureProps) {
  return (
    <div className={classNames(styles.figure, tone !== undefined && styles[tone])}>
      <dt className={styles.label}>{label}</dt>
      <dd className={styles.value}>{value}</dd>
      {note !== undefined && <dd className={styles.note}>{note}</dd>}
    </div>
  )
}

/** Figures in rows: so many beside one another where there is room, half of them where there is less. */
export function Figures({ columns, children }: { readonly columns: 4 | 6; readonly children: ReactNode }) {
  const style = { '--columns': columns, '--half': columns / 2 } as CSSProperties
  return (
    <dl className={styles.figures} style={style}>
      {children}
    </dl>
  )
}
