import { StarflowError } from '@starflow/errors'

/** Where a page over both placements ended: the cursor of each, null where it has no more. */
export type PageCursor = Readonly<Partial<Record<'queue' | 'runner', string | null | undefined>>>

export function encodeCursor(value: PageCursor): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** @throws StarflowError SF902 */
export function decodeCursor(text: string): PageCursor {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (!isPageCursor(value)) throw new TypeError('no cursor')
    return value
  } catch {
    throw new StarflowError({
      code: 'SF902',
      message: 'The query of the request is not valid.',
      detail: 'cursor: this is no cursor of a list of runs.',
      hint: 'Give what the last page gave as next, or leave it out.',
    })
  }
}

/** By hand: every command that lists runs loads this module, and zod alone would take a third of a second of its start. */
function isPageCursor(value: unknown): value is PageCursor {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(
      ([placement, end]) => ['queue', 'runner'].includes(placement) && (end === null || typeof end === 'string'),
    )
  )
}
