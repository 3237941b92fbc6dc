import { type ReactNode, useEffect } from 'react'
import styles from './Page.module.css'

/** A page: its name, what can be done with all of it, and its parts. The browser's title follows. */
export function Page({
  title,
  titleNode,
  above,
  below,
  actions,
  children,
}: {
  readonly title: string
  /** Instead of the plain title: a name with its status, for instance. */
  readonly titleNode?: ReactNode
  /** Where it belongs: a link to what it is a part of. */
  readonly above?: ReactNode
  /** One line on what it is. */
  readonly below?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Starflow`
  }, [title])
  return (
    <div className={styles.page}>
      <header className={styles.header}>
        <div className={styles.heading}>
          {above !== undefined && <p className={styles.above}>{above}</p>}
          {titleNode ?? <h1>{title}</h1>}
          {below !== undefined && <p className={styles.below}>{below}</p>}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  )
}

/** A part of a page under a heading. */
export function Section({
  title,
  aside,
  children,
}: {
  readonly title: string
  /** Beside the heading: a count, a switch. */
  readonly aside?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <section className={styles.section} aria-label={title}>
      <header className={styles.sectionHeader}>
        <h2>{title}</h2>
        {aside !== undefined && <div className={styles.aside}>{aside}</div>}
      </header>
      {children}
    </section>
  )
}

/** A surface that holds what belongs together. */
export function Panel({ children, isFlush = false }: { readonly children: ReactNode; readonly isFlush?: boolean }) {
  return <div className={isFlush ? styles.flushPanel : styles.panel}>{children}</div>
}
