import { IconButton } from '../../design/Button.tsx'
import { Status } from '../../design/Status.tsx'
import { useToaster } from '../../design/Toast.tsx'
import styles from './RunTitle.module.css'
import type { RunDetail } from './run-queries.ts'

/** Which run it is, and how it stands. */
export function RunTitle({ run }: { readonly run: RunDetail }) {
  const toaster = useToaster()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(run.runId)
      toaster.done('Run id copied.')
    } catch (error) {
      toaster.failed('The run id was not copied.', error)
    }
  }
  return (
    <div className={styles.title}>
      <h1>{run.flow}</h1>
      <Status status={run.status} />
      <span className={styles.id}>
        <code>{run.runId}</code>
        <IconButton icon="copy" label="Copy the run id" size="small" onClick={copy} />
      </span>
    </div>
  )
}
