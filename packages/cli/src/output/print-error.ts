import { fromSqlError, isStarflowError, type StarflowError } from '@starflow/errors'
import { EXIT_CODES, type ExitCode } from './exit-codes.ts'
import type { Output } from './output.ts'

/**
 * The one printer of errors: code and message, then detail and hint, each on its own lines. With `--json` the same parts
 * are one object `{ "error": … }` on standard output, where a program reads them. Returns the exit code to end with.
 */
export function printError(error: unknown, output: Output): ExitCode {
  const ours = asStarflowError(error)
  if (ours === undefined) {
    const { name, message, stack } = asPlainError(error)
    output.problem(`${name}: ${message}`)
    if (stack !== undefined) output.problem(stack)
    output.problem('This is a defect of Starflow: please report it with the lines above.')
    output.result({ error: { code: null, name, message } })
    return EXIT_CODES.bug
  }
  const { code, name, message, detail, hint, fields } = ours
  if (output.json) {
    output.result({ error: { code, name, message, detail, hint, fields } })
  } else {
    const { colors } = output
    output.problem(`${colors.red(`error ${code}`)}: ${message}`)
    if (detail) output.problem(indent('detail', detail))
    if (hint) output.problem(indent('hint', hint))
  }
  return code === 'SF610' ? EXIT_CODES.usage : EXIT_CODES.failed
}

function asStarflowError(error: unknown): StarflowError | undefined {
  return isStarflowError(error) ? error : fromSqlError(error)
}

function asPlainError(error: unknown): { name: string; message: string; stack?: string | undefined } {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message, stack } = error
  return { name, message, stack: stack?.split('\n').slice(1).join('\n') || undefined }
}

/** Further lines stand under the first word, so that the labels stay easy to find. */
function indent(label: string, text: string): string {
  return `  ${label}: ${text.split('\n').join(`\n${' '.repeat(label.length + 4)}`)}`
}
