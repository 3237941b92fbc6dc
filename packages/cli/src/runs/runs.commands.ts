import { type ListedRun, RUN_STATUSES, type RunRecord, type RunStatus } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { EventFollower } from './event-follower.ts'
import { hasEnded, pause, requireRun } from './execute-run.ts'
import { pageSize } from './page-size.ts'
import { checkRunId } from './run-id-argument.ts'
import { describeRun, showOutcome } from './run-outcome.ts'
import { RunProgress } from './run-progress.ts'
import { type RunStore, withRunStore } from './run-store.ts'
import { createRunView, stepLine } from './run-view.ts'

interface ListOptions {
  readonly flow?: string
  readonly status?: string
  readonly workspace?: string
  readonly limit: string
  readonly before?: string
}

/** Adds `starflow runs …`. */
export function addRunsCommands(program: Command, outputFor: OutputFor): void {
  const runs = program
    .command('runs')
    .description('The runs that runners execute, wherever the environment says they are kept.')
  withJson(runs.command('list').description('List runs, the newest first, page by page.'))
    .option('--flow <slug>', 'of this flow only')
    .option('--status <status>', `one of ${RUN_STATUSES.join(', ')}`)
    .option('--workspace <name>', 'of this workspace only (default: of all)')
    .option('--limit <runs>', 'how many at most', '20')
    .option('--before <cursor>', 'the page after the one that gave this cursor')
    .action((options: ListOptions & { json?: boolean }) => list(options, outputFor(options)))
  withJson(
    runs
      .command('show')
      .description('Show a run with its steps, what it waits for, and how it ended.')
      .argument('<run>', 'its id'),
  ).action((runId: string, options: { json?: boolean }) => show(checkRunId(runId), outputFor(options)))
  withJson(
    runs
      .command('watch')
      .description('Show a run while it goes on, in whatever process, until its end.')
      .argument('<run>', 'its id')
      .option('--events', 'with --json: print each event as a line before'),
  ).action((runId: string, options: { json?: boolean; events?: boolean }) =>
    watch(checkRunId(runId), options, outputFor(options)),
  )
  withJson(
    runs
      .command('cancel')
      .description('End a run now. Whoever executes it is refused at the next write.')
      .argument('<run>', 'its id')
      .option('--reason <text>', 'kept with it', 'cancelled from the command line'),
  ).action((runId: string, options: { json?: boolean; reason: string }) =>
    cancel(checkRunId(runId), options.reason, outputFor(options)),
  )
  withJson(
    runs
      .command('retry')
      .description('Queue a failed or cancelled run again; nothing that it has completed runs again.')
      .argument('<run>', 'its id'),
  ).action((runId: string, options: { json?: boolean }) => retry(checkRunId(runId), outputFor(options)))
}

function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON object')
}

async function list(options: ListOptions, output: Output): Promise<void> {
  const statuses = options.status === undefined ? undefined : [checkStatus(options.status)]
  const { flow: templateId, workspace: workspaceId, before } = options
  const limit = pageSize(options.limit)
  const page = await withRunStore(({ adapter }) =>
    adapter.listRuns({ templateId, workspaceId, statuses, before, limit }),
  )
  output.result({ runs: page.runs.map(listed), next: page.next })
  if (page.runs.length === 0) return output.line('There is no such run.')
  const columns = [
    { title: 'run' },
    { title: 'flow' },
    { title: 'status' },
    { title: 'started' },
    { title: 'took' },
    { title: 'runner' },
  ]
  const rows = page.runs.map((run) => [
    ...[run.runId, run.templateId, run.status, run.startedAt ?? ''],
    ...[run.durationMs === null ? '' : formatDuration(run.durationMs), run.leasedBy ?? ''],
  ])
  for (const line of textTable(columns, rows)) output.line(line)
  if (page.next !== null) output.line(`\nMore: --before ${page.next}`)
}

/** Without inputs and outputs, which may be long; `show` has them. */
function listed({
  runId,
  templateId,
  workspaceId,
  status,
  claimState,
  startedAt,
  completedAt,
  durationMs,
  leasedBy,
  error,
}: ListedRun) {
  return {
    runId,
    flow: templateId,
    workspaceId,
    status,
    claimState,
    startedAt,
    completedAt,
    durationMs,
    runner: leasedBy,
    error,
  }
}

async function show(runId: string, output: Output): Promise<void> {
  await withRunStore(async (store) => {
    const run = await requireRun(store, runId)
    const progress = await progressOf(store, run)
    await new EventFollower(store.adapter, runId, (events) => {
      for (const event of events) progress.apply(event)
    }).catchUp()
    const description = await describeRun(store, run)
    output.result({
      run: {
        ...{ ...listed(run), input: run.input, output: run.output, queuedAt: run.queuedAt, leaseUntil: run.leaseUntil },
        cancelReason: description.cancelReason,
      },
      steps: progress.steps.map(({ slug, state, isMap, done, total, reason }) => ({
        ...{ step: slug, state, reason: reason ?? null },
        ...(isMap ? { completedElements: done, elements: total ?? null } : {}),
      })),
      waits: description.waits,
    })
    output.line(`Run ${runId} of ${run.templateId}: ${run.status}`)
    for (const step of progress.steps) output.line(`  ${stepLine(step)}`)
    for (const { step, dueAt } of description.waits) {
      output.line(`Waits for ${step}${dueAt === null ? '' : `, until ${dueAt}`}.`)
    }
    if (run.leasedBy !== null) output.line(`Held by ${run.leasedBy}, until ${run.leaseUntil} or longer.`)
    if (run.error !== null) output.line(`Error: ${run.error}`)
    if (description.cancelReason !== null) output.line(`Cancelled: ${description.cancelReason}`)
    if (run.output !== null) output.line(JSON.stringify(run.output, null, 2))
  })
}

/** By the definition that the run is tied to: whoever looks at it needs no code of it. */
async function progressOf({ adapter }: RunStore, { definitionId, input }: RunRecord): Promise<RunProgress> {
  const definition = definitionId === null ? null : await adapter.readDefinition(definitionId)
  return new RunProgress(definition?.shape, input)
}

async function watch(runId: string, options: { events?: boolean }, output: Output): Promise<void> {
  const interruption = untilInterrupted()
  try {
    const exitCode = await withRunStore(async (store) => {
      const progress = await progressOf(store, await requireRun(store, runId))
      const view = createRunView(output, progress, { events: options.events === true })
      const untilOver = async () => {
        for (;;) {
          const run = await requireRun(store, runId)
          if (hasEnded(run) || interruption.signal.aborted) return run
          await pause(interruption.signal)
        }
      }
      try {
        const run = await new EventFollower(store.adapter, runId, view.show).during(untilOver())
        view.done()
        const description = await describeRun(store, run)
        output.result(description)
        return hasEnded(run) ? showOutcome(store, description, undefined, output) : EXIT_CODES.interrupted
      } finally {
        view.done()
      }
    })
    if (exitCode !== EXIT_CODES.ok) throw new CommandEnded(exitCode)
  } finally {
    interruption.release()
  }
}

async function cancel(runId: string, reason: string, output: Output): Promise<void> {
  await decide(runId, output, 'cancelled', (adapter) => adapter.cancelRun(runId, reason))
}

async function retry(runId: string, output: Output): Promise<void> {
  await decide(runId, output, 'retried', (adapter) => adapter.retryRun(runId))
  output.line(`A runner goes on with it: npx starflow runner. Or here: npx starflow run --resume ${runId}`)
}

type Adapter = Parameters<Parameters<typeof withRunStore>[0]>[0]['adapter']

async function decide(
  runId: string,
  output: Output,
  done: 'cancelled' | 'retried',
  call: (adapter: Adapter) => Promise<boolean>,
): Promise<void> {
  const run = await withRunStore(async (store) => {
    const { status } = await requireRun(store, runId)
    if (!(await call(store.adapter)))
      throw notInState(runId, (await store.adapter.readRun(runId))?.status ?? status, done)
    return await requireRun(store, runId)
  })
  output.result({ runId, status: run.status })
  output.line(`Run ${runId} is ${run.status}.`)
}

function notInState(runId: string, status: RunStatus, done: 'cancelled' | 'retried'): StarflowError {
  return new StarflowError({
    code: 'SF642',
    message: `Run ${runId} cannot be ${done}: its status is ${status}.`,
    detail:
      done === 'cancelled'
        ? 'Only a run that has not ended is cancelled; ends are final.'
        : 'Only a run that failed or was cancelled is retried.',
    hint: `See it: npx starflow runs show ${runId}`,
    fields: { runId, status },
  })
}

function checkStatus(text: string): RunStatus {
  const status = RUN_STATUSES.find((each) => each === text)
  if (status !== undefined) return status
  throw new StarflowError({
    code: 'SF610',
    message: `--status cannot be "${text}".`,
    detail: `A run has one of the statuses ${RUN_STATUSES.join(', ')}.`,
    hint: 'Leave it out for runs of every status.',
  })
}
