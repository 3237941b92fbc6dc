import { parseArgs } from 'node:util'

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  readonly json: boolean
  /** Keeps the data folder and the logs. */
  readonly keep: boolean
}

export const SOAK_HELP = `Usage: npm run soak -- [options]

Runs flows on the local platform, in isolates and in Node, for a while, and does to it what production may: kills, stopped
processes, fences, rollouts, connections that are cut, reset, silent or slow, exhausted connections, held runs, handlers that
harm their isolate, restarts of Postgres, messages sent by hand, cancelled and retried runs. Then it lets everything come to its
end, and says how many runs were accepted, lost, doubled, stuck, or failed though nothing in them fails.

Options:
  --minutes <n>  how long runs are started and disturbed (default 10)
  --seed <n>     decisions to try again (default: chosen, and shown)
  --json         the result as one line of JSON; progress goes to standard error
  --keep         keep the data folder, for a look behind the scenes
  --help         this text

Exit code: 0 when all is well, 1 when something is not, with what.`

/** Undefined: help was asked for. Throws for what cannot be understood. */
export function parseSoakOptions(args: readonly string[]): SoakOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return undefined
  return {
    minutes: positive('--minutes', values.minutes),
    seed: values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : positive('--seed', values.seed),
    json: values.json,
    keep: values.keep,
  }
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value
  throw new Error(`${name} is a number above 0, not "${text}".`)
}
