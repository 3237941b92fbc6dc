import { randomUUID } from 'node:crypto'
import { DEFAULT_ENV, DEFAULT_WORKSPACE } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { loadFlows } from '../project/load-flows.ts'
import { checkedInput } from './checked-input.ts'
import { chooseFlow } from './choose-flow.ts'
import { createEngine } from './execute-run.ts'
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
  readonly workspace: string
  readonly json?: boolean
}

interface StartedRun {
  readonly runId: string
  readonly flow: string
  readonly placement: 'runner' | 'queue'
  readonly created?: boolean
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
    .option('--pool <name>', 'with runner: which runners may claim it (default: any)')
    .option('--delay <seconds>', 'with runner: not claimed before')
    .option('--workspace <name>', 'with runner: the workspace of the run', DEFAULT_WORKSPACE)
    .option('--json', 'print one JSON object')
    .action((module: string | undefined, options: StartOptions) => start(module, options, outputFor(options)))
}

async function start(module: string | undefined, options: StartOptions, output: Output): Promise<void> {
  const startRun = STARTS.get(options.placement)
  if (startRun === undefined) throw unknownPlacement(options.placement)
  const started = await startRun(module, options)
  output.result(started)
  output.line(started.runId)
}

const STARTS: ReadonlyMap<string, (module: string | undefined, options: StartOptions) => Promise<StartedRun>> = new Map(
  [
    ['runner', startOnRunner],
    ['queue', startOnQueues],
  ],
)

async function startOnRunner(module: string | undefined, options: StartOptions): Promise<StartedRun> {
  const delayMs = options.delay === undefined ? undefined : seconds(options.delay) * 1000
  const flow = chooseFlow(await loadFlows(module === undefined ? [] : [module]), options.flow)
  const input = await checkedInput(flow, options.input)
  return await withRunStore(async (store) => {
    const engine = createEngine(store, flow, {
      onToken() {},
      onEvent() {},
      shutdownSignal: new AbortController().signal,
    })
    const { definitionId } = await engine.serve(flow)
    const { workspace } = options
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
    return { runId, flow: flow.slug, placement: 'runner', created }
  })
}

async function startOnQueues(module: string | undefined, options: StartOptions): Promise<StartedRun> {
  const flow = chooseFlow(await loadFlows(module === undefined ? [] : [module]), options.flow)
  const input = await checkedInput(flow, options.input)
  const id = options.id === undefined ? null : checkRunId(options.id)
  return await withTracing((tracing) =>
    withDatabase(options, async ({ sql }) => {
      const { runId } = await startTraced(tracing, { flow: flow.slug, placement: 'queue' }, async (traceparent) => {
        // One statement is one transaction, in which the start finds the setting; the slug waits for it.
        const [run] = await sql<[{ runId: string }]>`
          select s.run_id as "runId"
          from (select set_config('pgflow.traceparent', ${traceparent ?? ''}, true)) c(traceparent)
          cross join lateral pgflow.start_flow(case when c.traceparent is not null then ${flow.slug} end,
            ${JSON.stringify(input)}::text::jsonb, ${id}::uuid, ${options.idempotencyKey ?? null}) s`
        return run
      })
      return { runId, flow: flow.slug, placement: 'queue' }
    }),
  )
}

function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  throw new StarflowError({
    code: 'SF610',
    message: `--delay cannot be "${text}".`,
    detail: 'A delay is a number of seconds, from 0.',
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
