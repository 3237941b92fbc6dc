import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { OutputFor } from '../output/output.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { type DemoOptions, runDemo } from './run-demo.ts'
import { searchDocuments } from './search-documents.ts'

const DEFAULT_HITS = 5

/** Adds `starflow demo` and `starflow demo search`. */
export function addDemoCommand(program: Command, outputFor: OutputFor): void {
  const demo = program
    .command('demo')
    .description('Index the README of every installed package with one worker pool per step, on this computer alone.')
    .option('--docs <folder>', 'index the Markdown files of a folder instead')
    .option('--limit <number>', 'index at most so many documents')
    .option('--chaos', 'kill workers at random while they work')
    .option('--keep', 'leave the platform running until Ctrl-C')
    .option('--data-dir <folder>', 'where the local database lives (default: .starflow/demo)')
    .option('--yes', 'recreate an outdated local database without asking, and go on although DATABASE_URL is set')
    .option('--json', 'end with one line of JSON; everything else goes to standard error')
    // Refused by the action, which knows what was meant.
    .allowExcessArguments()
    .action(async (options: Omit<DemoOptions, 'limit'> & { limit?: string; json?: boolean }, command: Command) => {
      refuseLostOptions(process.env, command.args)
      refuseUnknownWord(command.args)
      const limit = parseLimit(options.limit)
      const output = outputFor(options)
      const { signal, release } = untilInterrupted()
      try {
        const summary = await runDemo({ ...options, limit }, output, signal)
        if (summary.failed + summary.lost > 0) throw new CommandEnded(EXIT_CODES.failed)
      } catch (error) {
        if (signal.aborted) {
          output.problem('Stopped: Postgres and the workers have ended.')
          throw new CommandEnded(EXIT_CODES.interrupted)
        }
        throw error
      } finally {
        release()
      }
    })

  demo
    .command('search')
    .description('Rank the documents of the index, with the passages that fit.')
    .argument('<words...>', 'words to look for; "a phrase", or, and -without work')
    .option('--limit <number>', `show at most so many documents (default: ${DEFAULT_HITS})`)
    .option('--data-dir <folder>', 'where the local database lives (default: .starflow/demo)')
    .option('--json', 'print one JSON object')
    .action(async (words: string[], _options: unknown, command: Command) => {
      // Both commands know these options; commander may hand them to either.
      const options = command.optsWithGlobals<{ limit?: string; dataDir?: string; json?: boolean }>()
      const limit = parseLimit(options.limit) ?? DEFAULT_HITS
      await searchDocuments(words.join(' '), { ...options, limit }, outputFor(options))
    })
}

const OPTIONS = ['docs', 'limit', 'chaos', 'keep', 'data-dir']

/**
 * `npm run demo --chaos` gives the option to npm, which leaves it in the environment of the script and nowhere else.
 *
 * @throws StarflowError SF610
 */
export function refuseLostOptions(env: Readonly<Record<string, string | undefined>>, args: readonly string[]): void {
  if (env.npm_lifecycle_event !== 'demo') return
  const values = [...args]
  const lost = OPTIONS.flatMap((name) => {
    const value = env[`npm_config_${name.replaceAll('-', '_')}`]
    if (value === undefined || value === '') return []
    // npm takes `--limit=10` whole, and of `--limit 10` only the name.
    const given = value === 'true' && name !== 'chaos' && name !== 'keep' ? values.shift() : value
    return given === undefined || given === 'true' ? [`--${name}`] : [`--${name} ${given}`]
  })
  if (lost.length === 0) return
  throw new StarflowError({
    code: 'SF610',
    message: `npm took ${lost.join(' ')} for an option of its own.`,
    detail: 'Only what stands behind `--` reaches the demo.',
    hint: `Put -- before the options: npm run demo -- ${[...lost, ...values].join(' ')}`,
  })
}

/**
 * The demo itself takes no words: what looks like one is a misspelt command.
 *
 * @throws StarflowError SF610
 */
export function refuseUnknownWord([word, ...rest]: readonly string[]): void {
  if (word === undefined) return
  const words = /^s\w*[rc]\w*h$/i.test(word) ? rest : [word, ...rest]
  throw new StarflowError({
    code: 'SF610',
    message: `"demo ${word}" is not a command.`,
    detail: 'Known commands: demo, demo search.',
    hint: `To search the index: npm run demo -- search "${words.join(' ') || 'markdown parser'}"`,
  })
}

/**
 * A whole number from 1 on, or undefined where none was given.
 *
 * @throws StarflowError SF001
 */
export function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const limit = Number(text)
  if (/^\d+$/.test(text) && limit >= 1 && Number.isSafeInteger(limit)) return limit
  throw new StarflowError({
    code: 'SF001',
    message: `--limit cannot be "${text}".`,
    detail: 'It says how many documents at most.',
    hint: 'Give a whole number from 1 on, for example --limit 20.',
    fields: { option: 'limit' },
  })
}
