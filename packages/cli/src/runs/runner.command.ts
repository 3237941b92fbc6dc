import { randomUUID } from 'node:crypto'
import { DRAIN_TIMEOUT_MS, RUNNER_CONCURRENCY, Runner, type RunnerEvent, type WaitHost } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { survivingStrayFailures } from '../output/stray-failures.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { loadFlows } from '../project/load-flows.ts'
import { nameArgument } from './name-argument.ts'
import { type RunStore, withRunStore } from './run-store.ts'

interface RunnerCommandOptions {
  readonly pool?: string
  readonly concurrency: string
  readonly drainTimeout: string
  readonly verbose?: boolean
  readonly json?: boolean
}

/** Adds `starflow runner`. */
export function addRunnerCommand(program: Command, outputFor: OutputFor): void {
  program
    .command('runner')
    .description('Claim queued runs of these flows and execute them, until Ctrl-C or SIGTERM: then drain.')
    .argument('[modules...]', 'the files with the flows (default: those in the folder _flows)')
    .option('--pool <name>', 'claim runs of this pool too (default: only those of none)', nameArgument('--pool'))
    .option('--concurrency <runs>', 'runs that are executed at once', String(RUNNER_CONCURRENCY))
    .option(
      '--drain-timeout <seconds>',
      'how long active runs may go on after the signal',
      String(DRAIN_TIMEOUT_MS / 1000),
    )
    .option('--verbose', 'show each completed node too')
    .option('--json', 'print one JSON object a line for each event')
    .addHelpText(
      'after',
      '\nExit codes: 0 it has drained, 1 runs were left, to be found by another runner, 130 forced.',
    )
    .action((modules: readonly string[], options: RunnerCommandOptions) =>
      runRunner(modules, options, outputFor(options)),
    )
}

async function runRunner(modules: readonly string[], options: RunnerCommandOptions, output: Output): Promise<void> {
  const concurrency = wholeNumber('--concurrency', options.concurrency, 1)
  const drainTimeoutMs = wholeNumber('--drain-timeout', options.drainTimeout, 0) * 1000
  const flows = await loadFlows(modules)
  const interruption = untilInterrupted()
  try {
    let runsLeft = 0
    const work = async ({ adapter, resources, waitTokenKey, place }: RunStore) => {
      const waits = flows.some((flow) =>
        flow.stepOrder.some((slug) => flow.getStepDefinition(slug).stepType === 'wait'),
      )
      const tokenKey = waits ? waitTokenKey() : undefined
      // That it waits is an event of the run, and `starflow waits list` shows it; a token is no business of a log.
      const waitHost: WaitHost | undefined = tokenKey && { tokenKey, emitWaitWake: async () => {} }
      const runner = new Runner(flows as never, {
        ...{ adapter, ...resources, waitHost, concurrency },
        runnerId: `runner-${process.pid}-${randomUUID().slice(0, 8)}`,
        ...(options.pool === undefined ? {} : { runnerPool: options.pool }),
        onEvent: (event) => {
          if (event.event === 'runner.stopped') runsLeft = event.runsLeft
          if (options.verbose === true || event.level !== 'debug') show(event, output)
        },
      })
      await runner.start()
      output.line(`Runs of ${flows.map((flow) => flow.slug).join(', ')} are claimed from ${place}. Ctrl-C drains.`)
      await interruption.ended
      await runner.drain(drainTimeoutMs)
    }
    await survivingStrayFailures(output, () => withRunStore(work, { executes: true }))
    if (runsLeft > 0) throw new CommandEnded(EXIT_CODES.failed)
  } finally {
    interruption.release()
  }
}

/** Identifiers and counts; of what handlers log the message. */
function show({ level, event, ...fields }: RunnerEvent, output: Output): void {
  const { runnerId: _, ...plain } = Object.fromEntries(
    Object.entries(fields).filter(([, value]) => typeof value !== 'object'),
  )
  output.result({ at: new Date().toISOString(), level, event, ...plain })
  const text = Object.entries(plain).map(([name, value]) => `${name}=${String(value)}`)
  output.line([new Date().toISOString(), level.padEnd(5), event, ...text].join(' '))
}

function wholeNumber(option: string, text: string, least: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
  throw new StarflowError({
    code: 'SF610',
    message: `${option} cannot be "${text}".`,
    detail: `It is a whole number, from ${least}.`,
    hint: 'Leave it out for the default.',
  })
}
