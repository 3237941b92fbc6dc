import type { Sql } from '@starflow/core'
import { formatCount, formatDuration, textTable } from '../output/text-table.ts'
import { MIN_KILLS } from './chaos.ts'

/** What a demo came to; with `--json` this is the last line. */
export interface DemoSummary {
  readonly runs: number
  readonly completed: number
  readonly failed: number
  /** Documents without a run that ended. */
  readonly lost: number
  readonly chaos: boolean
  /** Workers that chaos killed. */
  readonly killed: number
  readonly tasks: number
  /** Attempts beyond one per task: what kills, timeouts and errors cost. */
  readonly extraAttempts: number
  /** From the first start to the last end, by the database's clock. */
  readonly seconds: number
  readonly queues: readonly QueueSummary[]
  readonly brokenLinks: number
  /** A document has a report only if one of its links is broken. */
  readonly documentsWithBrokenLinks: number
  readonly skippedDocuments: number
  /** CPU of the worker functions after their boot; null where the host cannot tell. */
  readonly cpuMsPerTask: number | null
}

export interface QueueSummary {
  readonly queue: string
  readonly step: string
  readonly tasks: number
  readonly attempts: number
  /** From queued to the start of the last attempt; null when no task was started. */
  readonly waitP50Ms: number | null
  readonly waitP95Ms: number | null
}

interface RunFacts {
  completed: number
  failed: number
  seconds: number
  queues: QueueSummary[]
  brokenLinks: number
  documentsWithBrokenLinks: number
}

/** What the database knows of the given runs, in one query. */
export async function readRunFacts(sql: Sql, flowSlug: string, runIds: readonly string[]): Promise<RunFacts> {
  const [row] = await sql<[RunFacts]>`
    with demo_runs as (
      select
        count(*) filter (where status = 'completed') as completed,
        count(*) filter (where status not in ('started', 'completed')) as failed,
        coalesce(extract(epoch from
          coalesce(max(coalesce(completed_at, failed_at)), clock_timestamp()) - min(started_at)), 0) as seconds
      from pgflow.runs
      where run_id = any(${runIds as string[]}::uuid[])
    ),
    task_facts as (
      select
        step_slug,
        count(*) as tasks,
        -- Those that were given back before their handler began are none.
        sum(attempts_count - (
          select count(*) from pgflow.task_attempts a
          where a.run_id = t.run_id and a.step_slug = t.step_slug and a.task_index = t.task_index and a.reason = 'released'
        ))::integer as attempts,
        percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from started_at - queued_at) * 1000)
          filter (where started_at is not null) as waits
      from pgflow.step_tasks t
      where run_id = any(${runIds as string[]}::uuid[])
      group by step_slug
    )
    select
      (select completed from demo_runs)::int as completed,
      (select failed from demo_runs)::int as failed,
      (select seconds from demo_runs)::float8 as seconds,
      (select count(*) from demo.broken_links where run_id = any(${runIds as string[]}::uuid[]))::int as "brokenLinks",
      (select count(distinct document_id) from demo.broken_links where run_id = any(${runIds as string[]}::uuid[]))::int
        as "documentsWithBrokenLinks",
      coalesce(jsonb_agg(jsonb_build_object(
        'queue', steps.queue_name,
        'step', steps.step_slug,
        'tasks', coalesce(task_facts.tasks, 0),
        'attempts', coalesce(task_facts.attempts, 0),
        'waitP50Ms', round(task_facts.waits[1]::numeric, 1),
        'waitP95Ms', round(task_facts.waits[2]::numeric, 1)
      ) order by steps.step_index), '[]') as queues
    from pgflow.steps
    left join task_facts on task_facts.step_slug = steps.step_slug
    where steps.flow_slug = ${flowSlug}
  `
  return row
}

/** What only the demo knows. */
export interface DemoFacts {
  readonly documents: number
  readonly skippedDocuments: number
  readonly chaos: boolean
  readonly killed: number
  /** CPU of all worker functions together, where the host can tell. */
  readonly cpuMs: number | undefined
}

export function summarize(facts: RunFacts, demo: DemoFacts): DemoSummary {
  const total = (count: (queue: QueueSummary) => number) => facts.queues.reduce((sum, queue) => sum + count(queue), 0)
  const tasks = total((queue) => queue.tasks)
  return {
    runs: demo.documents,
    completed: facts.completed,
    failed: facts.failed,
    lost: demo.documents - facts.completed - facts.failed,
    chaos: demo.chaos,
    killed: demo.killed,
    tasks,
    extraAttempts: total((queue) => Math.max(0, queue.attempts - queue.tasks)),
    seconds: Math.round(facts.seconds * 100) / 100,
    queues: facts.queues,
    brokenLinks: facts.brokenLinks,
    documentsWithBrokenLinks: facts.documentsWithBrokenLinks,
    skippedDocuments: demo.skippedDocuments,
    cpuMsPerTask: demo.cpuMs === undefined || tasks === 0 ? null : Math.round((demo.cpuMs / tasks) * 100) / 100,
  }
}

/** The summary as lines for a person. */
export function summaryLines(summary: DemoSummary): string[] {
  const right = (title: string) => ({ title, align: 'right' as const })
  const wait = (milliseconds: number | null) => (milliseconds === null ? '-' : formatDuration(milliseconds))
  const table = textTable(
    [{ title: 'queue' }, right('tasks'), right('attempts'), right('wait p50'), right('wait p95')],
    summary.queues.map((queue) => [
      ...[queue.queue, formatCount(queue.tasks), formatCount(queue.attempts)],
      ...[wait(queue.waitP50Ms), wait(queue.waitP95Ms)],
    ]),
  )
  const rate = summary.seconds > 0 ? formatCount(summary.tasks / summary.seconds) : '-'
  const facts: [string, string][] = [
    ['runs', `${formatCount(summary.completed)} completed, ${summary.failed} failed, ${summary.lost} lost`],
    ['tasks', `${formatCount(summary.tasks)} in ${formatDuration(summary.seconds * 1_000)} (${rate} tasks/s)`],
    [
      'broken links',
      `${formatCount(summary.brokenLinks)} in ${documents(summary.documentsWithBrokenLinks)}: only these have a report`,
    ],
  ]
  if (summary.cpuMsPerTask !== null)
    facts.push(['CPU per task', `${summary.cpuMsPerTask} ms in the worker functions, without their boot`])
  if (summary.skippedDocuments > 0) facts.push(['skipped', documents(summary.skippedDocuments)])
  if (summary.chaos) facts.push(['chaos', describeChaos(summary)])
  const width = Math.max(...facts.map(([name]) => name.length))
  return [
    ...table,
    'wait: from queued to started. All documents are queued at once: that of the',
    'first step is the backlog.',
    '',
    ...facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
  ]
}

function describeChaos({ killed, extraAttempts }: DemoSummary): string {
  const workers = killed === 1 ? '1 worker' : `${killed} workers`
  const cost = `${formatCount(extraAttempts)} extra ${extraAttempts === 1 ? 'attempt' : 'attempts'}`
  if (killed >= MIN_KILLS) return `${workers} killed, at a cost of ${cost}`
  return `only ${workers} killed: the work was done before ${MIN_KILLS} were`
}

function documents(count: number): string {
  return `${formatCount(count)} document${count === 1 ? '' : 's'}`
}
