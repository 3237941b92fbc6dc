import { classNames } from './class-names.ts'
import styles from './Status.module.css'
import { type StatusName, statusLook } from './status-look.ts'

/**
 * A status in its word and colour, with a mark of its own, so that it can be told without seeing colours. One that is as it
 * should be is `isPlain`, so that the others stand out.
 */
export function Status({ status, isPlain = false }: { readonly status: StatusName; readonly isPlain?: boolean }) {
  const { word, tone, mark } = statusLook(status)
  return (
    <span className={classNames(styles.status, styles[tone], isPlain && styles.plain)}>
      <svg className={styles.mark} width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        <path d={mark} />
      </svg>
      {word}
    </span>
  )
}
