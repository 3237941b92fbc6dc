import { exactJsonText } from '@starflow/dsl'
import { ENDED_STATUSES, RUN_STATUSES, type RunStatus } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import {
  PLACEMENTS,
  type Placement,
  type RunDetail,
  type RunSummary,
  TASK_STATUSES,
  type TaskState,
  type TaskView,
} from '@starflow/server/runs'
import type { Command } from 'commander'
import type { DatabaseOptions } from '../database/open-database.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { type AllRuns, ofRun, scopeOf, withAllRuns, withRunOptions } from './all-runs.ts'
import { EventFollower } from './event-follower.ts'
import { pause } from './execute-run.ts'
import { nameArgument } from './name-argument.ts'
import { pageSize } from './page-size.ts'
import { readRunEvents } from './run-events.ts'
import { checkRunId } from './run-id-argument.ts'
import { type RunDescription, showOutcome } from './run-outcome.ts'
import { RunProgress } from './run-progress.ts'
import { createRunView, stepLine } from './run-view.ts'
import { stepProgress } from './step-progress.ts'

interface RunOptions extends DatabaseOptions {
  readonly json?: boolean
}

interface ListOptions extends RunOptions {
  readonly flow?: string
  readonly status?: string
  readonly placement?: string
  readonly search?: string
  readonly from?: string
  readonly to?: string
  readonly env?: string
  readonly workspace?: string
  readonly limit: string
  readonly before?: string
}

interface TasksOptions extends RunOptions {
  readonly status?: string
  readonly after?: string
  readonly limit: string
}

/** Adds `starflow runs …`. */
export function addRunsCommands(program: Command, outputFor: OutputFor): void {
  const runs = program
    .command('runs')
    .description('Runs, on step queues and on runners: list, show, tasks, watch, cancel, retry.')
  withRunOptions(runs.command('list').description('List runs, the newest first, page by page.'))
    .option('--flow <slug>', 'of this flow only')
    .option('--status <status>', `one of ${RUN_STATUSES.join(', ')}`)
    .option('--placement <where>', `one of ${PLACEMENTS.join(', ')} (default: both)`)
    .option('--search <text>', 'the beginning of an id, or a part of flow slug or error')
    .option('--from <instant>', 'made at this instant or later: 2026-01-31, or 2026-01-31T18:00:00Z')
    .option('--to <instant>', 'made before this instant')
    .option('--env <name>', 'of this environment only (default: of all)', nameArgument('--env'))
    .option('--workspace <name>', 'of this workspace only (default: of all)', nameArgument('--workspace'))
    .option('--limit <runs>', 'how many at most', '20')
    .option('--before <cursor>', 'the page after the one that gave this cursor')
    .action((options: ListOptions) => list(options, outputFor(options)))
  withRunOptions(
    runs
      .command('show')
      .description('Show a run with its steps, what it waits for, and how it ended.')
      .argument('<run>', 'its id'),
  ).action((runId: string, options: RunOptions) => show(checkRunId(runId), options, outputFor(options)))
  withRunOptions(
    runs
      .command('tasks')
      .description('List the tasks of a step with their attempts and errors; of a map, one for each element.')
      .argument('<run>', 'its id')
      .argument('<step>', 'the slug of the step'),
  )
    .option('--status <status>', `one of ${TASK_STATUSES.join(', ')}`)
    .option('--limit <tasks>', 'how many at most', '20')
    .option('--after <index>', 'the page behind the task with this index')
    .action((runId: string, step: string, options: TasksOptions) =>
      tasks(checkRunId(runId), step, options, outputFor(options)),
    )
  withRunOptions(
    runs
      .command('watch')
      .description('Show a run while it goes on, in whatever process, until its end.')
      .argument('<run>', 'its id')
      .option('--events', 'with --json: print each event as a line before'),
  ).action((runId: string, options: RunOptions & { events?: boolean }) =>
    watch(checkRunId(runId), options, outputFor(options)),
  )
  withRunOptions(
    runs
      .command('cancel')
      .description('End a run now. Whoever executes it is refused at the next write.')
      .argument('<run>', 'its id')
      .option('--reason <text>', 'kept with it', 'cancelled from the command line'),
  ).action((runId: string, options: RunOptions & { reason: string }) =>
    decide(checkRunId(runId), 'cancelled', options, outputFor(options), (all, id) =>
      all.runs.cancel('every', id, options.reason),
    ),
  )
  withRunOptions(
    runs
      .command('retry')
      .description('Start a failed or cancelled run again where it stopped; nothing that it has completed runs again.')
      .argument('<run>', 'its id'),
  ).action((runId: string, options: RunOptions) =>
    decide(checkRunId(runId), 'retried', options, outputFor(options), (all, id) => all.runs.retry('every', id)),
  )
}

async function list(options: ListOptions, output: Output): Promise<void> {
  const query = {
    ...{ flowSlug: options.flow, search: options.search, cursor: options.before, env: options.env },
    statuses: options.status === undefined ? undefined : [oneOf<RunStatus>('--status', options.status, RUN_STATUSES)],
    placement: options.placement === undefined ? undefined : oneOf('--placement', options.placement, PLACEMENTS),
    ...{ createdFrom: instant('--from', options.from), createdBefore: instant('--to', options.to) },
    limit: pageSize(options.limit),
  }
  const { runs, next, gap } = await withAllRuns(options, async ({ runs, gap }) => ({
    ...(await runs.list(scopeOf(options.workspace), query)),
    gap,
  }))
  output.result({ runs: runs.map(listed), next })
  if (gap !== undefined && query.placement !== 'runner') output.problem(gap)
  if (runs.length === 0 && next === null) return output.line('There is no such run.')
  const columns = ['run', 'flow', 'placement', 'status', 'started', 'took', 'runner'].map((title) => ({ title }))
  const rows = runs.map((run) => {
    const { durationMs } = listed(run)
    return [
      ...[run.runId, run.flow, run.placement, run.status, run.startedAt ?? ''],
      ...[durationMs === null ? '' : formatDuration(durationMs), run.leasedBy ?? ''],
    ]
  })
  for (const line of textTable(columns, rows)) output.line(line)
  if (next !== null) output.line(`\nMore: --before ${next}`)
}

/** Without inputs and outputs, which may be long; `show` has them. */
function listed(run: RunSummary) {
  const { runId, flow, placement, workspace, env, pool, status, claimState, createdAt, startedAt, endedAt } = run
  const { leasedBy, error } = run
  return {
    ...{ runId, flow, placement, workspaceId: workspace, env, pool, status, claimState, createdAt, startedAt },
    ...{ completedAt: status === 'cancelled' ? null : endedAt, endedAt },
    durationMs: startedAt === null || endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt),
    ...{ runner: leasedBy, error },
  }
}

async function show(runId: string, options: RunOptions, output: Output): Promise<void> {
  await withAllRuns(options, async (all) => {
    const run = await readRun(all, runId)
    const { status, leasedBy, leaseUntil, queuedAt, cancelReason } = run
    const [input, result] = [await inFull(all, run, 'input'), await inFull(all, run, 'output')]
    const steps = run.steps.map((view) => ({ ...stepProgress(view, status), view }))
    const waits = openWaitsOf(run)
    output.result({
      run: { ...listed(run), input, output: result, queuedAt, leaseUntil, cancelReason },
      steps: steps.map(({ view, state, isMap, done, total, reason }) => ({
        ...view,
        ...{ state, reason: reason ?? null },
        ...(isMap ? { completedElements: done, elements: total ?? null } : {}),
      })),
      waits,
    })
    output.line(`Run ${runId} of ${run.flow}, on ${PLACES[run.placement]}: ${status}`)
    for (const step of steps) output.line(`  ${stepLine(step)}`)
    for (const { step, dueAt } of waits) output.line(`Waits for ${step}${dueAt === null ? '' : `, until ${dueAt}`}.`)
    if (leasedBy !== null) output.line(`Held by ${leasedBy}, until ${leaseUntil} or longer.`)
    if (run.error !== null) output.line(`Error: ${run.error}`)
    if (cancelReason !== null) output.line(`Cancelled: ${cancelReason}`)
    if (result !== null) output.line(exactJsonText(result, 2))
  })
}

async function tasks(runId: string, step: string, options: TasksOptions, output: Output): Promise<void> {
  const limit = pageSize(options.limit)
  const page = {
    after: options.after === undefined ? undefined : taskIndex(options.after),
    status: options.status === undefined ? undefined : oneOf<TaskState>('--status', options.status, TASK_STATUSES),
    // One more tells whether there is another page.
    limit: limit + 1,
  }
  const found = await withAllRuns(options, (all) => ofRun(all, runId, () => all.runs.tasks('every', runId, step, page)))
  const shown = found.slice(0, limit)
  const next = found.length > limit ? shown.at(-1)!.task : null
  output.result({ runId, step, tasks: shown, next })
  if (shown.length === 0) return output.line('There is no such task.')
  const columns = ['task', 'status', 'attempts', 'started', 'took', 'worker', 'error'].map((title) => ({ title }))
  for (const line of textTable(columns, shown.map(taskRow))) output.line(line)
  if (next !== null) output.line(`\nMore: --after ${next}`)
}

function taskRow({ task, status, attempts, startedAt, endedAt, worker, error }: TaskView): string[] {
  const tookMs = startedAt === null || endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt)
  return [
    ...[String(task), status, String(attempts.length), startedAt ?? ''],
    ...[tookMs === null ? '' : formatDuration(tookMs), worker ?? '', error?.split('\n')[0] ?? ''],
  ]
}

const PLACES: Readonly<Record<Placement, string>> = { queue: 'step queues', runner: 'a runner' }

async function watch(runId: string, options: RunOptions & { events?: boolean }, output: Output): Promise<void> {
  const interruption = untilInterrupted()
  try {
    const exitCode = await withAllRuns(options, async (all) => {
      const begun = await readRun(all, runId)
      const steps = begun.steps.map(({ step, type, dependsOn }) => ({
        ...{ slug: step, stepType: type, dependencies: dependsOn },
      }))
      const progress = new RunProgress({ steps }, await inFull(all, begun, 'input'))
      const view = createRunView(output, progress, { events: options.events === true })
      const untilOver = async () => {
        for (;;) {
          const run = await readRun(all, runId)
          if (hasEnded(run) || interruption.signal.aborted) return run
          await pause(interruption.signal)
        }
      }
      try {
        const run = await new EventFollower(readRunEvents(all.runs), runId, view.show).during(untilOver())
        view.done()
        const description = await describe(all, run)
        output.result(description)
        return hasEnded(run) ? showOutcome(all.store, description, undefined, output) : EXIT_CODES.interrupted
      } finally {
        view.done()
      }
    })
    if (exitCode !== EXIT_CODES.ok) throw new CommandEnded(exitCode)
  } finally {
    interruption.release()
  }
}

async function describe(all: AllRuns, run: RunDetail): Promise<RunDescription> {
  const { runId, flow, placement, status, error, cancelReason } = run
  const { durationMs } = listed(run)
  const output = await inFull(all, run, 'output')
  return { runId, flow, placement, status, output, error, cancelReason, durationMs, waits: openWaitsOf(run) }
}

function openWaitsOf({ steps }: RunDetail): RunDescription['waits'] {
  return steps.filter(({ status }) => status === 'waiting').map(({ step, dueAt }) => ({ step, dueAt }))
}

async function readRun(all: AllRuns, runId: string): Promise<RunDetail> {
  return await ofRun(all, runId, () => all.runs.read('every', runId))
}

/** However large it is. */
async function inFull({ runs }: AllRuns, run: RunDetail, which: 'input' | 'output') {
  const bytes = which === 'input' ? run.inputBytes : run.outputBytes
  return run[which] !== null || bytes === null ? run[which] : (await runs.readValue('every', run.runId, which)).value
}

function hasEnded({ status }: RunSummary): boolean {
  return ENDED_STATUSES.includes(status)
}

async function decide(
  runId: string,
  done: 'cancelled' | 'retried',
  options: RunOptions,
  output: Output,
  call: (all: AllRuns, runId: string) => Promise<boolean>,
): Promise<void> {
  const { status, placement } = await withAllRuns(options, async (all) => {
    const isDone = await ofRun(all, runId, () => call(all, runId))
    const run = await readRun(all, runId)
    if (!isDone) throw notInState(run, done)
    return run
  })
  output.result({ runId, placement, status })
  output.line(`Run ${runId} is ${status}.`)
  if (done === 'cancelled') return
  output.line(
    placement === 'queue'
      ? `Its workers go on with it: npx starflow runs watch ${runId}`
      : `A runner goes on with it: npx starflow runner. Or here: npx starflow run --resume ${runId}`,
  )
}

function notInState({ runId, status }: RunSummary, done: 'cancelled' | 'retried'): StarflowError {
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

/** As the lists of both placements compare it. */
function instant(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  // What else a Date takes depends on the machine: "1", or "tomorrow 8".
  const milliseconds = /^\d{4}-\d\d-\d\d(T.*(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(milliseconds)) return new Date(milliseconds).toISOString()
  throw new StarflowError({
    code: 'SF610',
    message: `${option} cannot be "${text}".`,
    detail: 'An instant is a date, which begins at midnight UTC, or a date with a time and its offset.',
    hint: `For example: ${option} 2026-01-31, or ${option} 2026-01-31T18:00:00Z`,
  })
}

function taskIndex(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new StarflowError({
    code: 'SF610',
    message: `--after cannot be "${text}".`,
    detail: 'Tasks are counted from 0.',
    hint: 'Give what the page before ended with, or leave it out.',
  })
}

function oneOf<T extends string>(option: string, text: string, known: readonly T[]): T {
  const found = known.find((each) => each === text)
  if (found !== undefined) return found
  throw new StarflowError({
    code: 'SF610',
    message: `${option} cannot be "${text}".`,
    detail: `It is one of ${known.join(', ')}.`,
    hint: 'Leave it out for all of them.',
  })
}
