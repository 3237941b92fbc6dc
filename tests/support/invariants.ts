import type { Sql } from '@starflow/core'

export interface InvariantOptions {
  /** Whether `recordEvents` of ./events.ts was called before the first start. */
  readonly events?: boolean
  /** `run/step/index` of every completion that a settlement accepted, as a test collected them. */
  readonly accepted?: readonly string[]
  /** `run/step/index` → how often a handler was given the task. */
  readonly handlerStarts?: ReadonlyMap<string, number>
  /** That no connection was cut: then a handler was given each task as often as attempts were counted, and no less. */
  readonly noConnectionWasCut?: boolean
  /** `queue/message` of what was sent into queues by hand: it may be there. */
  readonly handMade?: ReadonlySet<string>
}

/** An invariant, and what breaks it. */
export interface BrokenInvariant {
  readonly invariant: string
  readonly offenders: readonly unknown[]
}

/**
 * What must hold of every run of the database whenever nobody is working, whatever was done to it. Runs may be open; no
 * call may be under way. Each invariant is a question for what breaks it, so that a failure names the run.
 */
export async function brokenInvariants(sql: Sql, options: InvariantOptions = {}): Promise<BrokenInvariant[]> {
  const questions: Record<string, () => PromiseLike<readonly unknown[]>> = {
    'every started run is terminal or has a next actor': () =>
      sql`select kind, run_id, step_slug, task_index, reason from pgflow.liveness_audit`,
    'a run that is over has no open task': () => sql`
      select r.run_id, r.status, t.step_slug, t.task_index, t.status as task_status
      from pgflow.runs r join pgflow.step_tasks t on t.run_id = r.run_id
      where r.status <> 'started' and t.status in ('queued', 'started', 'waiting')`,
    'each index of a completed step has exactly one accepted outcome': () => tasksAgainstTheirStep(sql),
    'a step starts only after all of its dependencies': () => sql`
      select s.run_id, s.step_slug, s.status, p.step_slug as dependency, p.status as dependency_status
      from pgflow.step_states s
      join pgflow.deps d on d.flow_slug = s.flow_slug and d.step_slug = s.step_slug
      join pgflow.step_states p on p.run_id = s.run_id and p.step_slug = d.dep_slug
      where s.started_at is not null and p.status not in ('completed', 'skipped')`,
    'every attempt ended once, and no stale one was accepted': () => attemptsAgainstTheirHistory(sql),
    'every waiting task is an open wait without a message, and no other is': () => waitsAgainstTheirTask(sql),
    'what is counted down agrees with what is open': () => wrongCounters(sql),
    'every parked task is queued, without a message, and due when it says': () => parkedAgainstTheirTasks(sql),
    'each queue holds the messages of its open tasks that are not parked, and no other': () =>
      queuesAgainstTheirTasks(sql, options),
    ...(options.events === true && { 'the events of each run are its transitions': () => eventsAgainstTheirRuns(sql) }),
    ...(options.accepted !== undefined && {
      'nothing was accepted twice, or completed by no accepted report': () =>
        acceptedAgainstCompleted(sql, options.accepted ?? []),
    }),
    ...(options.handlerStarts !== undefined && {
      [options.noConnectionWasCut === true
        ? 'handlers ran exactly as often as attempts were counted'
        : 'no handler ran more often than attempts were counted']: () =>
        handlerStartsAgainstAttempts(sql, options.handlerStarts ?? new Map(), options.noConnectionWasCut === true),
    }),
  }
  const broken: BrokenInvariant[] = []
  for (const [invariant, offenders] of Object.entries(questions)) {
    const found = await offenders()
    if (found.length > 0) broken.push({ invariant, offenders: found })
  }
  return broken
}

async function tasksAgainstTheirStep(sql: Sql): Promise<readonly unknown[]> {
  return await sql`
    select s.run_id, s.step_slug, s.initial_tasks, t.completed, t.highest
    from pgflow.step_states s
    join pgflow.steps st on st.flow_slug = s.flow_slug and st.step_slug = s.step_slug
    cross join lateral (
      select count(*) filter (where t.status = 'completed')::integer as completed, count(*)::integer as all_tasks,
             coalesce(max(t.task_index), -1) as highest, jsonb_agg(t.output order by t.task_index) as outputs
      from pgflow.step_tasks t where t.run_id = s.run_id and t.step_slug = s.step_slug
    ) t
    where s.status = 'completed' and (
      t.completed <> s.initial_tasks or t.all_tasks <> s.initial_tasks or t.highest <> s.initial_tasks - 1
      or s.output is distinct from case when st.step_type = 'map' then coalesce(t.outputs, '[]') else nullif(t.outputs -> 0, 'null') end
         and not (s.output = 'null' and t.outputs -> 0 = 'null'))`
}

/** Attempts 1 to attempts_count of a task: each is in its history, but for the one that completed it or still runs. */
async function attemptsAgainstTheirHistory(sql: Sql): Promise<readonly unknown[]> {
  return await sql`
    select t.run_id, t.step_slug, t.task_index, t.status, t.attempts_count, t.attempts_forgiven, a.ended, a.last_ended
    from pgflow.step_tasks t
    join pgflow.steps st on st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
    cross join lateral (
      select count(*)::integer as ended, coalesce(max(a.attempt), 0) as last_ended from pgflow.task_attempts a
      where a.run_id = t.run_id and a.step_slug = t.step_slug and a.task_index = t.task_index
    ) a
    -- What a wait brought counts as no attempt.
    where a.ended <> t.attempts_count - case when t.status in ('started', 'completed') and st.step_type <> 'wait' then 1 else 0 end
       or a.last_ended <> a.ended`
}

/** Both ways: a waiting task without its open wait would never time out, an open wait without a task would end twice. */
async function waitsAgainstTheirTask(sql: Sql): Promise<readonly unknown[]> {
  return await sql`
    select coalesce(t.run_id, w.run_id) as run_id, coalesce(t.step_slug, w.step_slug) as step_slug, t.status, t.message_id, w.opened_at
    from (select * from pgflow.step_tasks where status = 'waiting') t
    full join (select * from pgflow.waits where opened_at is not null) w on w.run_id = t.run_id and w.step_slug = t.step_slug
    where t.run_id is null or w.run_id is null or t.message_id is not null or t.attempts_count > 0
    union all
    select w.run_id, w.step_slug, s.status, null, null
    from pgflow.waits w join pgflow.step_states s on s.run_id = w.run_id and s.step_slug = w.step_slug
    where w.resumed_at is not null and s.status = 'started'
    union all
    select t.run_id, t.step_slug, t.status, t.message_id, null
    from pgflow.step_tasks t join pgflow.steps st on st.flow_slug = t.flow_slug and st.step_slug = t.step_slug
    where st.step_type = 'wait' and t.message_id is not null`
}

async function wrongCounters(sql: Sql): Promise<readonly unknown[]> {
  return await sql`
    select 'run' as what, r.run_id, null as step_slug, r.remaining_steps as counted, o.open
    from pgflow.runs r cross join lateral (
      select count(*) filter (where s.status not in ('completed', 'skipped'))::integer as open from pgflow.step_states s where s.run_id = r.run_id
    ) o
    -- A run that failed counts the steps that ended in the call that failed it no more.
    where (r.status in ('started', 'completed') and r.remaining_steps <> o.open) or (r.status = 'completed') <> (r.output is not null)
    union all
    select 'deps', s.run_id, s.step_slug, s.remaining_deps, o.open
    from pgflow.step_states s cross join lateral (
      select count(*)::integer as open from pgflow.deps d join pgflow.step_states p on p.run_id = s.run_id and p.step_slug = d.dep_slug
      where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug and p.status not in ('completed', 'skipped')
    ) o
    where s.status in ('created', 'started', 'completed') and s.remaining_deps <> o.open
    union all
    select 'tasks', s.run_id, s.step_slug, s.remaining_tasks, o.open
    from pgflow.step_states s cross join lateral (
      select count(*) filter (where t.status <> 'completed')::integer as open from pgflow.step_tasks t where t.run_id = s.run_id and t.step_slug = s.step_slug
    ) o
    where s.status = 'started' and (select r.status from pgflow.runs r where r.run_id = s.run_id) = 'started' and s.remaining_tasks <> o.open`
}

/** What is parked is queued in an open run, has no message, and is due when its task is. */
async function parkedAgainstTheirTasks(sql: Sql): Promise<readonly unknown[]> {
  return await sql`
    select p.*, t.status, t.message_id from pgflow.parked_tasks p
    left join pgflow.step_tasks t on (t.run_id, t.step_slug, t.task_index) = (p.run_id, p.step_slug, p.task_index)
    left join pgflow.runs r on r.run_id = p.run_id
    where (t.status = 'queued' and t.message_id is null and t.queue_name = p.queue_name and t.due_at = p.due_at and r.status = 'started') is not true`
}

/** Depth of every queue = its open tasks; nothing else is in it, and nothing of it is missing. */
async function queuesAgainstTheirTasks(sql: Sql, { handMade }: InvariantOptions): Promise<readonly unknown[]> {
  const queues = await sql<{ queue_name: string }[]>`
    select distinct queue_name from pgflow.steps where step_type <> 'wait' order by 1`
  const wrong: unknown[] = []
  for (const { queue_name } of queues) {
    const rows = await sql.unsafe<{ msg_id: string | null }[]>(
      `select $1::text as queue, q.msg_id, t.run_id, t.step_slug, t.task_index, t.status
       from pgmq."q_${queue_name}" q
       full join (
         select * from pgflow.step_tasks t where queue_name = $1 and status in ('queued', 'started')
           and not exists (select from pgflow.parked_tasks p where (p.run_id, p.step_slug, p.task_index) = (t.run_id, t.step_slug, t.task_index))
       ) t on t.message_id = q.msg_id
       where q.msg_id is null or t.run_id is null`,
      [queue_name],
    )
    wrong.push(...rows.filter(({ msg_id }) => msg_id === null || handMade?.has(`${queue_name}/${msg_id}`) !== true))
  }
  return wrong
}

interface StepTransition {
  readonly run_id: string
  readonly event: string
  readonly step_slug: string | null
  readonly status: string
  readonly skip_reason: string | null
}

/** What may follow what. A step that never ran is completed by nothing: a map over nothing, from created. */
const STEP_TRANSITIONS: Readonly<Record<string, readonly string[]>> = {
  created: ['started', 'completed', 'skipped', 'failed'],
  started: ['completed', 'skipped', 'failed'],
  // A retried run starts its open steps again.
  stopped: ['started', 'skipped', 'failed', 'completed'],
  completed: [],
  skipped: [],
  failed: [],
}

/**
 * Replays the recorded events of each run: every transition is allowed once, a step comes after its dependencies, and what
 * the events lead to is what the tables say.
 */
async function eventsAgainstTheirRuns(sql: Sql): Promise<readonly string[]> {
  const events = await sql<StepTransition[]>`
    select payload ->> 'run_id' as run_id, event, payload ->> 'step_slug' as step_slug, payload ->> 'status' as status,
           payload ->> 'skip_reason' as skip_reason
    from realtime.messages where topic like 'pgflow:run:%' order by sent_position`
  const runs = await sql<{ run_id: string; flow_slug: string; status: string }[]>`
    select run_id, flow_slug, status from pgflow.runs`
  const states = await sql<{ run_id: string; step_slug: string; status: string; dependencies: string[] }[]>`
    select s.run_id, s.step_slug, s.status,
           array(select d.dep_slug from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug) as dependencies
    from pgflow.step_states s`
  const eventsOf = grouped(events, (event) => event.run_id)
  const statesOf = grouped(states, (state) => state.run_id)
  const problems: string[] = []
  for (const run of runs) {
    const ofRun = statesOf.get(run.run_id) ?? []
    const dependencies = new Map(ofRun.map((state) => [state.step_slug, state.dependencies]))
    const steps = new Map(ofRun.map((state) => [state.step_slug, 'created']))
    let status = 'none'
    const problem = (text: string) => problems.push(`run ${run.run_id}: ${text}`)
    for (const event of eventsOf.get(run.run_id) ?? []) {
      if (event.step_slug === null) {
        const isAllowed = event.status === 'started' ? status !== 'started' : status === 'started'
        if (!isAllowed) problem(`${event.event} came while the run was ${status}`)
        if (event.status === 'started') {
          for (const [slug, step] of steps) if (step === 'started' || step === 'failed') steps.set(slug, 'stopped')
        }
        status = event.status
        continue
      }
      const before = steps.get(event.step_slug) ?? 'unknown'
      if (status !== 'started') problem(`${event.event} came while the run was ${status}`)
      if (!STEP_TRANSITIONS[before]?.includes(event.status)) problem(`${event.event} came while the step was ${before}`)
      const parents = (dependencies.get(event.step_slug) ?? []).map((slug) => steps.get(slug) ?? 'unknown')
      const isTooEarly =
        event.skip_reason === 'dependency_skipped'
          ? !parents.includes('skipped')
          : parents.some((parent) => parent !== 'completed' && parent !== 'skipped')
      if (isTooEarly) problem(`${event.event} came while its dependencies were ${parents.join(', ')}`)
      steps.set(event.step_slug, event.status)
    }
    if (status !== run.status) problem(`its last event says ${status}, but it is ${run.status}`)
    for (const state of ofRun) {
      const told = steps.get(state.step_slug)
      if (told !== state.status) problem(`the events leave ${state.step_slug} ${told}, but it is ${state.status}`)
    }
  }
  return problems
}

async function acceptedAgainstCompleted(sql: Sql, accepted: readonly string[]): Promise<readonly string[]> {
  const counts = grouped(accepted, (name) => name)
  const rows = await sql<{ name: string }[]>`
    select concat_ws('/', run_id, step_slug, task_index) as name from pgflow.step_tasks where status = 'completed'`
  return [
    ...[...counts].filter(([, times]) => times.length > 1).map(([name]) => `${name} was accepted twice`),
    ...rows.filter(({ name }) => !counts.has(name)).map(({ name }) => `${name} was completed by no accepted report`),
  ]
}

async function handlerStartsAgainstAttempts(
  sql: Sql,
  handlerStarts: ReadonlyMap<string, number>,
  isExact: boolean,
): Promise<readonly unknown[]> {
  const rows = await sql<{ name: string; counted: number }[]>`
    select concat_ws('/', t.run_id, t.step_slug, t.task_index) as name, t.attempts_count - (
        -- Given back before its handler began. Of an attempt that stalled beside others the handler ran, forgiven or not.
        select count(*)::integer from pgflow.task_attempts a
        where a.run_id = t.run_id and a.step_slug = t.step_slug and a.task_index = t.task_index and a.reason = 'released') as counted
    from pgflow.step_tasks t`
  return rows.filter(({ name, counted }) => {
    const starts = handlerStarts.get(name) ?? 0
    return counted < starts || (isExact && counted !== starts)
  })
}

function grouped<T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [row])
    else group.push(row)
  }
  return groups
}
