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
  readonly colors: ReturnType<typeof pc.createColors>
}

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
      if (!options.json) streams.stdout.write(`${text}\n`)
    },
    result: (value) => {
      if (options.json) streams.stdout.write(`${exactJsonText(value)}\n`)
    },
    problem: (text) => {
      streams.stderr.write(`${text}\n`)
    },
    colors: isInteractive ? pc : pc.createColors(false),
  }
}
