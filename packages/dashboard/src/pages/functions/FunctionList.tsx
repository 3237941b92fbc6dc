import type { WorkerFunction } from '../../api/functions.ts'
import { None } from '../../design/None.tsx'
import { Status } from '../../design/Status.tsx'
import { FenceButton } from './FenceButton.tsx'
import styles from './FunctionList.module.css'
import { functionStatus } from './function-status.ts'

/** The functions of a queue, each with its fence. */
export function FunctionList({ functions }: { readonly functions: readonly WorkerFunction[] }) {
  if (functions.length === 0) return <None />
  return (
    <ul className={styles.list}>
      {functions.map((each) => (
        <li key={each.function} className={styles.entry}>
          <span className={styles.name}>
            <span title={each.function}>{each.function}</span>
            {!each.isEnabled && <Status status={functionStatus(each)} />}
          </span>
          <FenceButton of={each} />
        </li>
      ))}
    </ul>
  )
}
