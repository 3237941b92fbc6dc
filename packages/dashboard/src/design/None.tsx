import styles from './None.module.css'
import { VisuallyHidden } from './VisuallyHidden.tsx'

/** In the place of a figure that there is not, with the reason where it is not plain. */
export function None({ why }: { readonly why?: string }) {
  return (
    <span className={styles.none} title={why}>
      <span aria-hidden="true">–</span>
      <VisuallyHidden>{why ?? 'none'}</VisuallyHidden>
    </span>
  )
}
