import type { Sql } from '@starflow/core'
import { type BrokenInvariant, brokenInvariants } from '../../tests/support/invariants.ts'

export interface Outcome {
  readonly verdict: Verdict
  readonly runs: Readonly<Record<string, number>>
  readonly tasks: Readonly<Record<string, number>>
  readonly attempts: number
  readonly effects: number
  readonly broken: readonly BrokenInvariant[]
}

/** In runs; `doubled` in attempts and effects. All but `accepted` are to be 0. */
interface Verdict {
  /** Starts that were answered. */
  readonly accepted: number
  /** Accepted, and nothing is known of them. */
  readonly lost: number
  /** Handed to a handler twice in one attempt, or with an effect that is there twice. */
  readonly doubled: number
  readonly stuck: number
  /** Failed, though nothing in their input makes them. */
  readonly 'failed innocent': number
}

const LOST = 'no run that was accepted is lost'
const STUCK = 'every run is terminal'
const FAILED_INNOCENT = 'no run failed that nothing in its input makes fail'
const HANDLED_TWICE = 'no attempt was given to a handler twice'
const EFFECTS = 'transactional effects are there exactly once for each completed task, whole, and for no other'

/** What the soak came to, and what is wrong with it. */
export async function judge(
  sql: Sql,
  { handMade, accepted }: { readonly handMade: ReadonlySet<string>; readonly accepted: ReadonlySet<string> },
): Promise<Outcome> {
  const own: Record<string, () => PromiseLike<readonly unknown[]>> = {
    [LOST]: () => sql`
      select id from unnest(${[...accepted]}::uuid[]) id where not exists (select from pgflow.runs r where r.run_id = id)`,
    [FAILED_INNOCENT]: () => sql`
      select run_id, flow_slug, input from pgflow.runs
      where status = 'failed' and input ->> 'poison' is null and not coalesce((input ->> 'ends')::boolean, false)`,
    // Deno does not say which handler a timer was of.
    'every run whose handler rejects unseen or never yields failed, or was cancelled': () => sql`
      select run_id, status, input from pgflow.runs
      where input ->> 'poison' in ('rejection', 'loop') and status not in ('failed', 'cancelled')`,
    [STUCK]: () => sql`select run_id, flow_slug, status from pgflow.runs where status = 'started'`,
    [HANDLED_TWICE]: () => sql`
      select run_id, step_slug, task_index, attempt, count(*) from soak.handled group by 1, 2, 3, 4 having count(*) > 1`,
    'the accepted outcome of each task is that of its last attempt': () => sql`
      select t.run_id, t.step_slug, t.task_index, t.attempts_count, t.output
      from pgflow.step_tasks t
      where t.status = 'completed' and jsonb_typeof(t.output) = 'object'
        and (t.output ->> 'attempt')::integer is distinct from t.attempts_count`,
    'every completed task was handled in its accepted attempt': () => sql`
      select t.run_id, t.step_slug, t.task_index from pgflow.step_tasks t
      where t.status = 'completed' and t.step_slug <> 'pay' and not exists (
        select from soak.handled h where h.run_id = t.run_id and h.step_slug = t.step_slug
          and h.task_index = t.task_index and h.attempt = t.attempts_count)`,
    [EFFECTS]: () => sql`
      select coalesce(t.run_id, e.run_id) as run_id, t.status, t.attempts_count, e.attempt, e.parts
      from (select * from pgflow.step_tasks where step_slug = 'pay' and status = 'completed') t
      full join soak.effects e on e.run_id = t.run_id and e.task_index = t.task_index
      where t.run_id is null or e.run_id is null or e.attempt <> t.attempts_count or e.parts <> 2
      union all
      select run_id, null, null, count(*)::integer, null from soak.effects group by run_id having count(*) > 1`,
    'the messages that no task knows are those that were sent by hand': async () => {
      const listed = await sql<{ name: string }[]>`
        select concat_ws('/', queue_name, message_id) as name from pgflow.unsupported_messages`
      const names = new Set(listed.map(({ name }) => name))
      return [
        ...[...names].filter((name) => !handMade.has(name)).map((name) => ({ name, is: 'an orphan' })),
        ...[...handMade].filter((name) => !names.has(name)).map((name) => ({ name, is: 'not listed' })),
      ]
    },
    'no function is left fenced or disabled': () =>
      sql`select function_name, fenced_by, disabled_reason from pgflow.worker_functions where not enabled`,
  }
  const broken: BrokenInvariant[] = [...(await brokenInvariants(sql, { handMade }))]
  for (const [invariant, question] of Object.entries(own)) {
    const offenders = await question()
    if (offenders.length > 0) broken.push({ invariant, offenders })
  }
  const [counts] = await sql<{ attempts: number; effects: number }[]>`
    select (select count(*)::integer from soak.handled) as attempts, (select count(*)::integer from soak.effects) as effects`
  const offenders = (...names: readonly string[]) =>
    broken.reduce((sum, each) => sum + (names.includes(each.invariant) ? each.offenders.length : 0), 0)
  const verdict = {
    accepted: accepted.size,
    lost: offenders(LOST),
    doubled: offenders(HANDLED_TWICE, EFFECTS),
    stuck: offenders(STUCK),
    'failed innocent': offenders(FAILED_INNOCENT),
  }
  return { verdict, runs: await byStatus(sql, 'runs'), tasks: await byStatus(sql, 'step_tasks'), ...counts!, broken }
}

async function byStatus(sql: Sql, table: 'runs' | 'step_tasks'): Promise<Record<string, number>> {
  const rows = await sql.unsafe<{ status: string; count: number }[]>(
    `select status, count(*)::integer as count from pgflow.${table} group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** How many runs are open, and how many tasks are in which state. */
export async function openWork(sql: Sql): Promise<{ runs: number; queued: number; started: number }> {
  const [row] = await sql<{ runs: number; queued: number; started: number }[]>`
    select (select count(*)::integer from pgflow.runs where status = 'started') as runs,
           count(*) filter (where status = 'queued')::integer as queued,
           count(*) filter (where status = 'started')::integer as started
    from pgflow.step_tasks where status in ('queued', 'started')`
  return row!
}
