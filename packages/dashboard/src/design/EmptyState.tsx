import type { ReactNode } from 'react'
import styles from './EmptyState.module.css'

/** There is nothing to show: why, and what would change that. Where there is nothing to be done about it, it is one line. */
export function EmptyState({
  title,
  children,
  action,
}: {
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
}) {
  return (
    <div className={children === undefined && action === undefined ? styles.line : styles.empty}>
      <p className={styles.title}>{title}</p>
      {children !== undefined && <div className={styles.body}>{children}</div>}
      {action}
    </div>
  )
}
