import type { WorkerFunction } from '../../api/functions.ts'
import type { StatusName } from '../../design/status-look.ts'

/** Fenced is disabled by somebody who will restore it. */
export function functionStatus({ isEnabled, fencedBy }: WorkerFunction): StatusName {
  if (fencedBy !== null) return 'fenced'
  return isEnabled ? 'enabled' : 'disabled'
}
