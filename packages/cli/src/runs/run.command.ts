import { randomUUID } from 'node:crypto'
import { type AnyFlow, extractFlowShape } from '@starflow/dsl'
import {
  DEFAULT_ENV,
  DEFAULT_WORKSPACE,
  type Engine,
  type EngineEvent,
  planFlow,
  type RunRecord,
} from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES, type ExitCode } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { tellRunGuard } from '../output/run-guard.ts'
import { survivingStrayFailures } from '../output/stray-failures.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { loadFlows } from '../project/load-flows.ts'
import { checkedInput } from './checked-input.ts'
import { chooseFlow } from './choose-flow.ts'
import { EventFollower } from './event-follower.ts'
import { createEngine, executeRun, requireRun } from './execute-run.ts'
import { nameArgument } from './name-argument.ts'
import { checkRunId } from './run-id-argument.ts'
import { describeRun, showOutcome } from './run-outcome.ts'
import { RunProgress } from './run-progress.ts'
import { type RunStore, withRunStore } from './run-store.ts'
import { createRunView } from './run-view.ts'
import { startTraced } from './traced-start.ts'

interface RunOptions {
  readonly input?: string
  readonly flow?: string
  readonly resume?: string
  readonly id?: string
  readonly idempotencyKey?: string
  readonly pool?: string
  readonly workspace: string
  readonly memory?: boolean
  readonly wait?: boolean
  readonly events?: boolean
  readonly json?: boolean
}

/** How long runners leave a run alone that was made to be executed here at once. */
const TAKE_UP_MS = 30_000

/** Adds `starflow run`. */
export function addRunCommand(program: Command, outputFor: OutputFor): void {
  program
    .command('run')
    .description('Run a flow from its beginning to its end in this process, or go on with a run.')
    .argument('[module]', 'the file with the flow (default: those in the folder _flows)')
    .option('--input <json>', 'the input: JSON, @file, or - for standard input (default: {})')
    .option('--flow <slug>', 'which flow, where there are several')
    .option('--resume <run>', 'go on with this run; nothing that it has completed runs again')
    .option('--id <uuid>', 'the id of the run; one that exists already goes on')
    .option('--idempotency-key <key>', 'the same key again is the same run')
    .option(
      '--pool <name>',
      'the runners that may go on with it when it is given back (default: any)',
      nameArgument('--pool'),
    )
    .option('--workspace <name>', 'the workspace of the run', nameArgument('--workspace'), DEFAULT_WORKSPACE)
    .option('--memory', 'keep nothing: the run ends with this process')
    .option('--wait', 'stay while the run waits for somebody, and go on then')
    .option('--events', 'with --json: print each event as a line before')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExit codes: 0 it succeeded, 1 it failed or was refused, 3 it waits for somebody, 130 it was interrupted and can go on.',
    )
    .action((module: string | undefined, options: RunOptions) => run(module, options, outputFor(options)))
}

async function run(module: string | undefined, options: RunOptions, output: Output): Promise<void> {
  checkOptions(options)
  const flows = await loadFlows(module === undefined ? [] : [module])
  const interruption = untilInterrupted()
  try {
    const exitCode = await survivingStrayFailures(output, () =>
      withRunStore((store) => runOn(store, flows, module, options, interruption.signal, output), {
        memory: options.memory === true,
        executes: true,
      }),
    )
    if (exitCode !== EXIT_CODES.ok) throw new CommandEnded(exitCode)
  } finally {
    interruption.release()
  }
}

async function runOn(
  store: RunStore,
  flows: readonly AnyFlow[],
  module: string | undefined,
  options: RunOptions,
  interruption: AbortSignal,
  output: Output,
): Promise<ExitCode> {
  const existing = options.resume === undefined ? undefined : await requireRun(store, checkRunId(options.resume))
  const flow = chooseFlow(flows, options.flow ?? existing?.templateId)
  if (existing !== undefined) checkFlowOf(existing, flow)

  const tokens = new Map<string, string>()
  const engine = createEngine(store, flow, {
    onToken: (stepSlug, token) => void tokens.set(stepSlug, token),
    onEvent: (event) => tellOfEvent(event),
    shutdownSignal: interruption,
  })
  const record = existing ?? (await makeRun(store, engine, flow, options))
  const { runId } = record
  const view = createRunView(output, new RunProgress(extractFlowShape(flow), record.input), {
    events: options.events === true,
  })
  function tellOfEvent(event: EngineEvent): void {
    if (event.event === 'handler.stray') {
      view.note(`  ${event.nodeId}: ${event.code} something that it started failed (${event.errorName}) at ${event.at}`)
    }
    if (event.event === 'handler.log') view.note(`  ${event.nodeId}: ${event.message}`)
    if (event.event === 'write.retried' && event.attempt === 1) view.note(`  ${event.method} failed and is tried again`)
  }

  view.note(`Run ${runId} of ${flow.slug}, kept in ${store.place}.`)
  let ended: RunRecord
  const stopTelling = tellRunGuard({
    ...{ runId, isKept: store.isKept, longestTimeoutSeconds: longestTimeoutSeconds(flow) },
  })
  try {
    const parts = { store, flow, runId, interruption, engine, note: view.note, stay: options.wait === true }
    ended = await new EventFollower(store.adapter, runId, view.show).during(executeRun(parts))
  } finally {
    stopTelling()
    view.done()
  }
  const description = await describeRun(store, ended, tokens)
  output.result(description)
  return showOutcome(store, description, module, output)
}

function longestTimeoutSeconds(flow: AnyFlow): number {
  const handled = planFlow(flow).steps.filter(({ stepType }) => stepType !== 'wait')
  return Math.max(0, ...handled.map(({ timeoutSeconds = 0 }) => timeoutSeconds))
}

/** Queued first, and taken from there: so it has its id, key and pool from the beginning, and every store does the same. */
async function makeRun(store: RunStore, engine: Engine, flow: AnyFlow, options: RunOptions): Promise<RunRecord> {
  const input = await checkedInput(flow, options.input)
  const { definitionId } = await engine.serve(flow)
  const { runId } = await startTraced(
    store.resources.tracing,
    { flow: flow.slug, placement: 'runner', workspace: options.workspace },
    (traceparent) =>
      store.adapter.enqueueRun({
        runId: options.id === undefined ? randomUUID() : checkRunId(options.id),
        ...{
          templateId: flow.slug,
          workspaceId: options.workspace,
          env: DEFAULT_ENV,
          input,
          definitionId,
          traceparent,
        },
        ...{ runnerPool: options.pool, idempotencyKey: options.idempotencyKey, delayMs: TAKE_UP_MS },
      }),
  )
  return await requireRun(store, runId)
}

function checkOptions({ resume, memory, ...others }: RunOptions): void {
  const besides = (['input', 'id', 'idempotencyKey', 'pool'] as const).filter((name) => others[name] !== undefined)
  if (resume !== undefined && (besides.length > 0 || memory)) {
    throw new StarflowError({
      code: 'SF610',
      message: '--resume goes on with a run that has its input, id and place already.',
      detail: 'It does not go with --input, --id, --idempotency-key, --pool and --memory.',
      hint: 'Leave them out.',
    })
  }
}

function checkFlowOf({ runId, templateId }: RunRecord, flow: AnyFlow): void {
  if (flow.slug === templateId) return
  throw new StarflowError({
    code: 'SF610',
    message: `Run ${runId} is a run of "${templateId}", not of "${flow.slug}".`,
    detail: 'A run goes on with the flow that it was started with.',
    hint: `Name the module that has "${templateId}".`,
  })
}
