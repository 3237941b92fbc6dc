import styles from './Skeleton.module.css'
import { VisuallyHidden } from './VisuallyHidden.tsx'

/** Holds the place of what is being loaded, so that nothing moves when it comes. */
export function Skeleton({ lines = 1, height = '1rem' }: { readonly lines?: number; readonly height?: string }) {
  return (
    <div className={styles.lines} role="status">
      <VisuallyHidden>Loading</VisuallyHidden>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className={styles.line} style={{ height }} />
      ))}
    </div>
  )
}
