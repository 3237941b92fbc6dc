import { StarflowError } from '@starflow/errors'
import { NAME_PATTERN } from '@starflow/server/runs'

/**
 * Takes the names that the server takes: a run of a workspace or a pool with another name could be neither asked for nor claimed.
 *
 * @throws StarflowError SF610
 */
export function nameArgument(option: string): (text: string) => string {
  return (text) => {
    if (NAME_PATTERN.test(text)) return text
    throw new StarflowError({
      code: 'SF610',
      message: `${option} cannot be "${text}".`,
      detail:
        'A name has letters, digits, dots, hyphens and underscores, 64 at most, and begins and ends with a letter or a digit.',
      hint: `For example: ${option} shop`,
    })
  }
}
