import { StarflowError } from '@starflow/errors'

/** Where a page of runs on step queues ended: the start to the microsecond, since a millisecond may have many, and the run. */
export interface QueueRunCursor {
  readonly startedAtUs: string
  readonly runId: string
}

export function writeQueueRunCursor({ startedAtUs, runId }: QueueRunCursor): string {
  return `${startedAtUs}_${runId}`
}

/** @throws StarflowError SF902 */
export function readQueueRunCursor(text: string): QueueRunCursor {
  const [, startedAtUs, runId] = /^(-?\d{1,18})_([0-9a-f-]{36})$/.exec(text) ?? []
  if (startedAtUs !== undefined && runId !== undefined) return { startedAtUs, runId }
  throw new StarflowError({
    code: 'SF902',
    message: 'The query of the request is not valid.',
    detail: 'cursor: this is no cursor of a list of runs.',
    hint: 'Give what the last page gave as next, or leave it out.',
  })
}
