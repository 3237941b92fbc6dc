import { StarflowError } from '@starflow/errors'

const LARGEST_PAGE = 1000

/** @throws StarflowError SF610 */
export function pageSize(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= LARGEST_PAGE) return Number(text)
  throw new StarflowError({
    code: 'SF610',
    message: `--limit cannot be "${text}".`,
    detail: `It is a whole number from 1 to ${LARGEST_PAGE}.`,
    hint: 'Leave it out for 20.',
  })
}
