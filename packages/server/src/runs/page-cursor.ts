import { StarflowError } from '@starflow/errors'
import { z } from 'zod'

/** Where a page over both placements ended: the cursor of each, null where it has no more. */
export type PageCursor = Readonly<Partial<Record<'queue' | 'runner', string | null | undefined>>>

const cursor = z.strictObject({ queue: z.string().nullish(), runner: z.string().nullish() })

export function encodeCursor(value: PageCursor): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** @throws StarflowError SF902 */
export function decodeCursor(text: string): PageCursor {
  try {
    const { queue, runner } = cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
    return { queue, runner }
  } catch {
    throw new StarflowError({
      code: 'SF902',
      message: 'The query of the request is not valid.',
      detail: 'cursor: this is no cursor of a list of runs.',
      hint: 'Give what the last page gave as next, or leave it out.',
    })
  }
}
