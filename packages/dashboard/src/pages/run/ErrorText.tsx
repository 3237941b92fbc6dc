import styles from './ErrorText.module.css'

/** What a handler failed with; its stack folded away. */
export function ErrorText({
  title,
  name,
  message,
  stack,
}: {
  readonly title: string
  readonly name: string | null
  readonly message: string
  readonly stack: string | null
}) {
  return (
    <section className={styles.error} aria-label={title}>
      <h3>{title}</h3>
      <div className={styles.box}>
        {name !== null && name !== 'Error' && <p className={styles.name}>{name}</p>}
        <p className={styles.message}>{message}</p>
        {stack !== null && (
          <details>
            <summary>Stack</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard. */}
            <pre className={styles.stack} tabIndex={0}>
              {stack}
            </pre>
          </details>
        )}
      </div>
    </section>
  )
}
