import type { QueueTrouble } from '../../api/queues.ts'
import type { StatusName } from '../../design/status-look.ts'
import { formatCount } from '../../format/count.ts'

/** Depths are counted up to this, as the API says. */
const COUNTED_UP_TO = 10_000

/** How many messages wait, as far as they are counted; undefined: there is no queue. */
export function depthText(depth: number | null): string | undefined {
  if (depth === null) return undefined
  return depth >= COUNTED_UP_TO ? `${formatCount(COUNTED_UP_TO)}+` : formatCount(depth)
}

/** Each trouble as a status. */
export const TROUBLE_STATUS: Readonly<Record<QueueTrouble, StatusName>> = {
  gone: 'gone',
  fenced: 'fenced',
  no_worker: 'uncovered',
  stalled: 'stalled',
  waiting: 'overdue',
  unsupported: 'unsupported',
}

/** What a trouble means, and the way out. */
export const TROUBLE_MEANING: Readonly<Record<QueueTrouble, string>> = {
  gone: 'The queue does not exist. Runs of its flow cannot go on: the flow has to be restored or deleted.',
  fenced: 'Work waits, and every worker function that could do it is disabled. Lift the fence when it may go on.',
  no_worker: 'Work waits, and no worker lives. Look at the last error of its function, and whether it is deployed.',
  stalled: 'Tasks are past their recovery boundary: their worker was lost. They are given out again within seconds.',
  waiting: 'A message could have been taken for more than a minute. More workers, or more at a time, would help.',
  unsupported:
    'No task knows these messages: no worker takes them, and they stay. npx starflow queues unsupported shows and archives them.',
}
