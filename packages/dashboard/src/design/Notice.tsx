import type { ReactNode } from 'react'
import { classNames } from './class-names.ts'
import { Icon } from './Icon.tsx'
import styles from './Notice.module.css'

/** Something that a person should know before they go on: what it is, why, and the way out. */
export function Notice({
  title,
  tone = 'warn',
  isAlert = false,
  children,
}: {
  readonly title: string
  readonly tone?: 'bad' | 'warn' | 'quiet'
  /** Comes as an answer to what a person has just done, and is said at once. */
  readonly isAlert?: boolean
  readonly children?: ReactNode
}) {
  return (
    <div className={classNames(styles.notice, styles[tone])} role={isAlert ? 'alert' : undefined}>
      <Icon name="warning" />
      <div className={styles.text}>
        <p className={styles.title}>{title}</p>
        {children}
      </div>
    </div>
  )
}
