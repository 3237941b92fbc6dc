import type { Sql } from '@starflow/core'

/** How far the runs of one demo are. All counts are of tasks of these runs, but for `liveWorkers`. */
export interface Progress {
  readonly runs: { readonly started: number; readonly completed: number; readonly failed: number }
  readonly queues: readonly QueueProgress[]
  /** What killed workers had in hand; null where nothing waits for that reason. */
  readonly stranded: StrandedTasks | null
}

export interface StrandedTasks {
  readonly tasks: number
  /** Until the first of them may be given out again, in seconds of the database's clock; 0 when it is due. */
  readonly backInSeconds: number
}

export interface QueueProgress {
  readonly step: string
  readonly queue: string
  readonly queued: number
  readonly inFlight: number
  /** Ended in any way. */
  readonly done: number
  readonly attempts: number
  /** Also workers that take nothing new and finish what they hold; none that is known to be killed. */
  readonly liveWorkers: number
}

/** `killed` workers count no more, though the database takes them for alive until their heartbeats are missed. */
interface ProgressOptions {
  readonly killed?: readonly string[]
}

/** One query for everything a tick shows. Queues come in the order of the flow's steps, also those without a task yet. */
export async function readProgress(
  sql: Sql,
  flowSlug: string,
  runIds: readonly string[],
  { killed = [] }: ProgressOptions = {},
): Promise<Progress> {
  const [row] = await sql<[Progress]>`
    with run_counts as (
      select
        count(*) filter (where status = 'started') as started,
        count(*) filter (where status = 'completed') as completed,
        count(*) filter (where status not in ('started', 'completed')) as failed
      from pgflow.runs
      where run_id = any(${runIds as string[]}::uuid[])
    ),
    task_counts as (
      select
        step_slug,
        count(*) filter (where status = 'queued') as queued,
        count(*) filter (where status = 'started') as in_flight,
        count(*) filter (where status not in ('queued', 'started')) as done,
        sum(attempts_count)::integer as attempts
      from pgflow.step_tasks
      where run_id = any(${runIds as string[]}::uuid[])
      group by step_slug
    ),
    live_workers as (
      select queue_name, count(*) as workers
      from pgflow.workers
      where stopped_at is null
        and last_heartbeat_at > now() - interval '12 seconds'
        and worker_id <> all(${killed as string[]}::uuid[])
      group by queue_name
    ),
    stranded as (
      -- A started task may be given out again 30 s after its timeout.
      select
        count(*) as tasks,
        greatest(0, ceil(extract(epoch from
          min(step_tasks.started_at + make_interval(secs => coalesce(steps.opt_timeout, flows.opt_timeout) + 30))
          - clock_timestamp())))::int as "backInSeconds"
      from pgflow.step_tasks
      join pgflow.steps using (flow_slug, step_slug)
      join pgflow.flows using (flow_slug)
      where step_tasks.run_id = any(${runIds as string[]}::uuid[])
        and step_tasks.status = 'started'
        and step_tasks.last_worker_id = any(${killed as string[]}::uuid[])
      having count(*) > 0
    )
    select
      (select to_jsonb(run_counts) from run_counts) as runs,
      (select to_jsonb(stranded) from stranded) as stranded,
      coalesce(jsonb_agg(jsonb_build_object(
        'step', steps.step_slug,
        'queue', steps.queue_name,
        'queued', coalesce(task_counts.queued, 0),
        'inFlight', coalesce(task_counts.in_flight, 0),
        'done', coalesce(task_counts.done, 0),
        'attempts', coalesce(task_counts.attempts, 0),
        'liveWorkers', coalesce(live_workers.workers, 0)
      ) order by steps.step_index), '[]') as queues
    from pgflow.steps
    left join task_counts on task_counts.step_slug = steps.step_slug
    left join live_workers on live_workers.queue_name = steps.queue_name
    where steps.flow_slug = ${flowSlug}
  `
  return row
}

/** True when a later reading differs in anything that only work can change; a worker that comes or goes is no progress. */
export function hasAdvanced(before: Progress, after: Progress): boolean {
  const fingerprint = ({ runs, queues }: Progress) =>
    JSON.stringify([runs, queues.map(({ queued, inFlight, done, attempts }) => [queued, inFlight, done, attempts])])
  return fingerprint(before) !== fingerprint(after)
}

/** What is still open, one line per queue, for the error of a demo that stands still. */
export function describeOpenWork({ runs, queues }: Progress): string {
  const open = queues.filter((queue) => queue.queued + queue.inFlight > 0)
  const perQueue = open.map(
    ({ queue, queued, inFlight, liveWorkers }) =>
      `${queue}: ${queued} queued, ${inFlight} in flight, ${liveWorkers} live worker${liveWorkers === 1 ? '' : 's'}`,
  )
  const count = `${runs.started} run${runs.started === 1 ? ' is' : 's are'} open`
  return [count, ...(perQueue.length === 0 ? ['no task is open'] : perQueue)].join('; ')
}
