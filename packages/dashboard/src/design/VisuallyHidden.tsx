import type { ReactNode } from 'react'
import styles from './VisuallyHidden.module.css'

/** Said to those who listen, and not shown. */
export function VisuallyHidden({ children }: { readonly children: ReactNode }) {
  return <span className={styles.hidden}>{children}</span>
}
