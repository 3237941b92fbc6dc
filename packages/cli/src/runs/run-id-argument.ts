import { StarflowError } from '@starflow/errors'

/**
 * Run ids are UUIDs in every store.
 *
 * @throws StarflowError SF610
 */
export function checkRunId(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase()
  throw new StarflowError({
    code: 'SF610',
    message: `"${text}" is no run id.`,
    detail: 'The id of a run is a UUID.',
    hint: 'See the runs there are: npx starflow runs list',
  })
}
