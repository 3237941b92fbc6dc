import { randomUUID } from 'node:crypto'
import { DEFAULT_ENV, DEFAULT_WORKSPACE, type RunStatus } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import { MAX_START_DELAY_MS } from '@starflow/server/runs'
import type { Command } from 'commander'
import { withDatabase } from '../database/open-database.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { loadFlows } from '../project/load-flows.ts'
import { checkedInput } from './checked-input.ts'
import { chooseFlow } from './choose-flow.ts'
import { createEngine, requireRun } from './execute-run.ts'
import { nameArgument } from './name-argument.ts'
import { checkRunId } from './run-id-argument.ts'
import { withRunStore } from './run-store.ts'
import { startTraced, withTracing } from './traced-start.ts'

interface StartOptions {
  readonly input?: string
  readonly flow?: string
  readonly placement: string
  readonly databaseUrl?: string
  readonly id?: string
  readonly idempotencyKey?: string
  readonly pool?: string
  readonly delay?: string
  readonly workspace?: string
  readonly json?: boolean
}

interface StartedRun {
  readonly runId: string
  readonly flow: string
  readonly placement: 'runner' | 'queue'
  readonly created?: boolean
  /** How it stands: a run may have ended before, or with its start, when a condition of its first step does not hold. */
  readonly status: RunStatus
}

/** Adds `starflow start`. */
export function addStartCommand(program: Command, outputFor: OutputFor): void {
  program
    .command('start')
    .description('Queue a run of a flow: for a runner, or for the workers of its step queues.')
    .argument('[module]', 'the file with the flow (default: those in the folder _flows)')
    .option('--input <json>', 'the input: JSON, @file, or - for standard input (default: {})')
    .option('--flow <slug>', 'which flow, where there are several')
    .option('--placement <where>', 'runner, or queue for a flow that workers have compiled', 'runner')
    .option(
      '--database-url <url>',
      'with queue: the database (default: DATABASE_URL, else the local platform that runs here)',
    )
    .option('--id <uuid>', 'the id of the run; the same again is the same run')
    .option('--idempotency-key <key>', 'the same key again is the same run')
    .option('--pool <name>', 'with runner: which runners may claim it (default: any)', nameArgument('--pool'))
    .option('--delay <seconds>', 'nothing of it begins before')
    .option(
      '--workspace <name>',
      `the workspace of the run (default: "${DEFAULT_WORKSPACE}"; with queue: none)`,
      nameArgument('--workspace'),
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExit codes: 0 it is started, 1 it was refused, or has failed or was cancelled already.')
    .action((module: string | undefined, options: StartOptions) => start(module, options, outputFor(options)))
}

async function start(module: string | undefined, options: StartOptions, output: Output): Promise<void> {
  const startRun = STARTS.get(options.placement)
  if (startRun === undefined) throw unknownPlacement(options.placement)
  const started = await startRun(module, options)
  output.result(started)
  output.line(started.runId)
  const { runId, status, created } = started
  if (created === false && !output.json) output.problem(`It was started before; its status is ${status}.`)
  if (status !== 'error' && status !== 'cancelled') return
  if (!output.json) {
    output.problem(
      `The run ${status === 'error' ? 'has failed' : 'was cancelled'}. See it: npx starflow runs show ${runId}`,
    )
  }
  throw new CommandEnded(EXIT_CODES.failed)
}

const STARTS: ReadonlyMap<string, (module: string | undefined, options: StartOptions) => Promise<StartedRun>> = new Map(
  [
    ['runner', startOnRunner],
    ['queue', startOnQueues],
  ],
)

async function startOnRunner(module: string | undefined, options: StartOptions): Promise<StartedRun> {
  if (options.databaseUrl !== undefined) throw notWith('--database-url', 'runner', NO_DATABASE_OF_RUNNERS)
  const delayMs = delayOf(options)
  const flow = chooseFlow(await loadFlows(module === undefined ? [] : [module]), options.flow)
  const input = await checkedInput(flow, options.input)
  return await withRunStore(async (store) => {
    const engine = createEngine(store, flow, {
      onToken() {},
      onEvent() {},
      shutdownSignal: new AbortController().signal,
    })
    const { definitionId } = await engine.serve(flow)
    const { workspace = DEFAULT_WORKSPACE } = options
    const { runId, created } = await startTraced(
      store.resources.tracing,
      { flow: flow.slug, placement: 'runner', workspace },
      (traceparent) =>
        store.adapter.enqueueRun({
          runId: options.id === undefined ? randomUUID() : checkRunId(options.id),
          ...{ templateId: flow.slug, workspaceId: workspace, env: DEFAULT_ENV, input, definitionId, delayMs },
          ...{ runnerPool: options.pool, idempotencyKey: options.idempotencyKey, traceparent },
        }),
    )
    const { status } = await requireRun(store, runId)
    return { runId, flow: flow.slug, placement: 'runner', created, status }
  })
}

async function startOnQueues(module: string | undefined, options: StartOptions): Promise<StartedRun> {
  if (options.pool !== undefined)
    throw notWith('--pool', 'queue', 'Pools are of runners; workers of step queues have none.')
  if (options.workspace !== undefined && options.id !== undefined) throw notWith('--id', 'queue', NO_ID_IN_WORKSPACE)
  const delayMs = delayOf(options) ?? 0
  const flow = chooseFlow(await loadFlows(module === undefined ? [] : [module]), options.flow)
  const input = await checkedInput(flow, options.input)
  const id = options.id === undefined ? null : checkRunId(options.id)
  const { workspace, idempotencyKey = null } = options
  const text = JSON.stringify(input)
  return await withTracing((tracing) =>
    withDatabase(options, async ({ sql }) => {
      const startsFor = async (workspaceId: string, traceparent: string | null) => {
        const [run] = await sql<[StartedOnQueues]>`
          select run_id as "runId", created from starflow.start_queue_run(${workspaceId}, ${DEFAULT_ENV}, ${flow.slug},
            ${text}::text::jsonb, ${idempotencyKey}, ${delayMs}, ${traceparent})`
        return run
      }
      const startsForNobody = async (traceparent: string | null) => {
        // One statement is one transaction, in which the start finds the setting; the slug waits for it.
        const [run] = await sql<[StartedOnQueues]>`
          select s.run_id as "runId"
          from (select set_config('pgflow.traceparent', ${traceparent ?? ''}, true)) c(traceparent)
          cross join lateral pgflow.start_flow(case when c.traceparent is not null then ${flow.slug} end,
            ${text}::text::jsonb, ${id}::uuid, ${idempotencyKey},
            case when ${delayMs}::float8 > 0 then pgflow.clock() + ${delayMs}::float8 * interval '1 millisecond' end) s`
        return run
      }
      const traced = { flow: flow.slug, placement: 'queue', workspace } as const
      const started = await startTraced(tracing, traced, (traceparent) =>
        workspace === undefined ? startsForNobody(traceparent) : startsFor(workspace, traceparent),
      )
      const [{ status }] = await sql<[{ status: RunStatus }]>`
        select case status when 'started' then 'queued' when 'completed' then 'success' when 'failed' then 'error' else status
               end as status
        from pgflow.runs where run_id = ${started.runId}`
      return { flow: flow.slug, placement: 'queue', ...started, status }
    }),
  )
}

/** Whether this start made the run is known of runs of a workspace alone. */
type StartedOnQueues = Pick<StartedRun, 'runId' | 'created'>

const NO_DATABASE_OF_RUNNERS =
  'Where runs of runners are kept is said by the environment: SUPABASE_URL and its key, else a file.'
const NO_ID_IN_WORKSPACE = 'A run on step queues that belongs to a workspace is given its id.'

/** What would be ignored is refused. */
function notWith(option: string, placement: 'runner' | 'queue', detail: string): StarflowError {
  return new StarflowError({
    code: 'SF610',
    message: `${option} does not go with this start in placement ${placement}.`,
    detail,
    hint: 'Leave it out. See: npx starflow start --help',
  })
}

function delayOf({ delay }: StartOptions): number | undefined {
  return delay === undefined ? undefined : Math.round(seconds(delay) * 1000)
}

function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= 0 && value * 1000 <= MAX_START_DELAY_MS) return value
  throw new StarflowError({
    code: 'SF610',
    message: `--delay cannot be "${text}".`,
    detail: `A delay is a number of seconds, from 0 to ${MAX_START_DELAY_MS / 1000}.`,
    hint: 'For example: --delay 90',
  })
}

function unknownPlacement(placement: string): StarflowError {
  return new StarflowError({
    code: 'SF610',
    message: `--placement cannot be "${placement}".`,
    detail: `Placements: ${[...STARTS.keys()].join(', ')}.`,
    hint: 'Leave it out for a run on a runner.',
  })
}
