import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StarflowError } from '@starflow/errors'

/** What the runner says of a module that could not be loaded. */
export interface BootFailureReport {
  readonly message: string
  readonly stack: string
}

/** SF511 for a module that does not load: names the file and line in which the trouble is, relative to the project. */
export function bootFailure(
  functionName: string,
  folders: { readonly projectDir: string; readonly functionsDir: string },
  report: BootFailureReport,
): StarflowError {
  const place = placeOf(report.message, folders) ?? placeOf(report.stack, folders)
  const at = place === undefined ? '' : ` at ${place.file}:${place.line}:${place.column}`
  return new StarflowError({
    code: 'SF511',
    message: `The edge function "${functionName}" does not boot: ${summaryOf(report.message)}${at}.`,
    detail: report.message,
    hint: 'Correct the file: it is booted again when it is saved in `starflow dev`, else by the next request.',
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

interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** The first place in the code of the functions: a library that refuses what it is given is not where to look. */
function placeOf(
  text: string,
  { projectDir, functionsDir }: { readonly projectDir: string; readonly functionsDir: string },
): Place | undefined {
  let elsewhere: Place | undefined
  for (const [, url, line, column] of text.matchAll(/(file:\/\/[^\s"')]+?):(\d+):(\d+)/g)) {
    const path = fileURLToPath(url!)
    const file = relative(projectDir, path)
    // Frames of the runner are not the user's.
    if (!file.startsWith(`..${sep}`) && !/[\\/]functions[\\/]runner\.[jt]s$/.test(path)) {
      const place = { file, line: Number(line), column: Number(column) }
      if (!relative(functionsDir, path).startsWith('..')) return place
      elsewhere ??= place
    }
  }
  return elsewhere
}

function summaryOf(message: string): string {
  const firstLine = message.split('\n', 1)[0]!
  return firstLine.replace(/ at file:\/\/\S+$/, '').replace(/[.\s]+$/, '')
}
