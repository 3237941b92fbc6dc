import styles from './None.module.css'
import { VisuallyHidden } from './VisuallyHidden.tsx'

/** In the place of a figure that there is not. */
export function None() {
  return (
    <span className={styles.none}>
      <span aria-hidden="true">–</span>
      <VisuallyHidden>none</VisuallyHidden>
    </span>
  )
}
