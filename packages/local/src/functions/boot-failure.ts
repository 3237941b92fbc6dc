import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StarflowError } from '@starflow/errors'

/** What the runner says of a module that could not be loaded. */
export interface BootFailureReport {
  readonly message: string
  readonly stack: string
}

/** SF511 for a module that does not load: names the file and line in which the trouble is, relative to the project. */
export function bootFailure(functionName: string, projectDir: string, report: BootFailureReport): StarflowError {
  const place = placeOf(report.message, projectDir) ?? placeOf(report.stack, projectDir)
  const at = place === undefined ? '' : ` at ${place.file}:${place.line}:${place.column}`
  return new StarflowError({
    code: 'SF511',
    message: `The edge function "${functionName}" does not boot: ${summaryOf(report.message)}${at}.`,
    detail: report.message,
    hint: 'Correct the file and send a request again: each request tries a new boot.',
    fields: { functionName, ...place },
  })
}

/** SF511 for a process that ended, or did not listen in time, without saying why. */
export function silentBootFailure(functionName: string, detail: string): StarflowError {
  return new StarflowError({
    code: 'SF511',
    message: `The edge function "${functionName}" does not boot.`,
    detail,
    hint: 'A function must call Deno.serve, or export default an object with `fetch`, soon after it is loaded.',
    fields: { functionName },
  })
}

function placeOf(text: string, projectDir: string): { file: string; line: number; column: number } | undefined {
  for (const [, url, line, column] of text.matchAll(/(file:\/\/[^\s"')]+?):(\d+):(\d+)/g)) {
    const path = fileURLToPath(url!)
    const file = relative(projectDir, path)
    // Frames of the runner are not the user's.
    if (!file.startsWith(`..${sep}`) && !/[\\/]functions[\\/]runner\.[jt]s$/.test(path)) {
      return { file, line: Number(line), column: Number(column) }
    }
  }
  return undefined
}

function summaryOf(message: string): string {
  const firstLine = message.split('\n', 1)[0]!
  return firstLine.replace(/ at file:\/\/\S+$/, '').replace(/[.\s]+$/, '')
}
