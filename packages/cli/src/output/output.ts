import { randomUUID } from 'node:crypto'
import { exactJsonText } from '@starflow/dsl'
import pc from 'picocolors'

/** Where a command writes, and how. Commands never touch `process.stdout` themselves, so that tests can read along. */
export interface Output {
  /** True where one JSON object is wanted instead of text. */
  readonly json: boolean
  /** True where a person watches: colours, questions and moving lines are welcome. */
  readonly isInteractive: boolean
  /** One line for a person; silent with `--json`. */
  line(text?: string): void
  /** The command's result as one line of JSON; silent without `--json`. */
  result(value: unknown): void
  /** One line on standard error. */
  problem(text: string): void
  readonly colors: Colors
  /** Text as it may be written to a terminal: only our colours control anything there. `line` and `problem` do it themselves. */
  printable(text: string): string
}

export type Colors = ReturnType<typeof pc.createColors>

/** Makes the output of a command late, because its `--json` decides how it writes. */
export type OutputFor = (options: { json?: boolean }) => Output

export interface OutputStreams {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean }
  readonly stderr: { write(text: string): unknown }
}

export function createOutput(options: { json: boolean }, streams: OutputStreams = process): Output {
  const isInteractive = streams.stdout.isTTY === true && !options.json
  return {
    json: options.json,
    isInteractive,
    line: (text = '') => {
      if (!options.json) streams.stdout.write(`${printable(text)}\n`)
    },
    result: (value) => {
      if (options.json) streams.stdout.write(`${exactJsonText(value).replace(/\p{Cc}/gu, escaped)}\n`)
    },
    problem: (text) => {
      streams.stderr.write(`${printable(text)}\n`)
    },
    colors: isInteractive ? OUR_COLORS : pc.createColors(false),
    printable,
  }
}

/** Stands for the escape character in colours of ours, and cannot be in a text from elsewhere. */
const OUR_ESCAPE = `\ufdd0${randomUUID()}`

const OUR_COLORS = Object.fromEntries(
  Object.entries(pc.createColors(true)).map(([name, paint]) => [
    name,
    typeof paint === 'boolean'
      ? paint
      : (text: string | number | null | undefined) =>
          paint(withoutControls(String(text))).replaceAll('\x1b', OUR_ESCAPE),
  ]),
) as unknown as Colors

function printable(text: string): string {
  return withoutControls(text).replaceAll(OUR_ESCAPE, '\x1b')
}

/**
 * Errors, titles and logs come from those who start runs and write files: an escape sequence in them would move the cursor, hide
 * lines, or write to the clipboard. Controls are shown as their pictures, those that turn the direction of writing are left out.
 */
function withoutControls(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
    .replace(/[^\P{Cc}\n\t]/gu, (control) => {
      const code = control.charCodeAt(0)
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
    })
}

/** Of those that JSON leaves as they are. */
function escaped(control: string): string {
  return `\\u00${control.charCodeAt(0).toString(16)}`
}
