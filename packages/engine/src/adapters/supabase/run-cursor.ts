import { Buffer } from 'node:buffer'
import { StarflowError } from '@starflow/errors'

/** Where a page of runs ended. The instant is as the database wrote it: a millisecond may have many runs. */
export interface RunCursor {
  readonly createdAt: string
  readonly runId: string
}

/** A text that may stand in a URL. */
export function writeRunCursor({ createdAt, runId }: RunCursor): string {
  return Buffer.from(`${createdAt} ${runId}`).toString('base64url')
}

const CURSOR = /^(\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ([0-9a-f-]{36})$/

/** @throws StarflowError SF001 */
export function readRunCursor(text: string): RunCursor {
  const [, createdAt, runId] = CURSOR.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (createdAt !== undefined && runId !== undefined) return { createdAt, runId }
  throw new StarflowError({
    code: 'SF001',
    message: 'This cursor of a list of runs was given by no page.',
    detail: `It is ${text.length} characters long and names no run.`,
    hint: 'Use what the last page gave as next, or none for the first page.',
  })
}
