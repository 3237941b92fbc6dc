import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { type StepSketch, shape } from './support/shape.ts'
import { setWaitKey } from './support/wait-tokens.ts'

// The promise of liveness_audit, tried from the other side: whatever is damaged in the rows and queues of an open run, either the
// audit names the run, or workers and the recovery alone bring it to an end. LIVENESS_RUNS and LIVENESS_SEED try more, and again.
const database = await testDatabase()
const { sql } = database
const superuser = database.as('supabase_admin', { connections: 1 })
const CASES = Number(process.env.LIVENESS_RUNS ?? 40)
const SEED = Number(process.env.LIVENESS_SEED ?? 20261201)
/** Enough for every attempt of every step, one after the other. */
const ROUNDS = 16

const FLOWS: readonly Record<string, StepSketch>[] = [
  { a: {}, b: { after: ['a'] } },
  { a: {}, b: { after: ['a'] }, c: { after: ['a'] }, d: { after: ['b', 'c'] } },
  { each: { map: true }, sum: { after: ['each'] } },
  { a: {}, each: { after: ['a'], map: true, whenExhausted: 'skip' }, sum: { after: ['each'] } },
  { a: {}, asked: { wait: true, timeout: 30, whenExhausted: 'skip', after: ['a'] }, b: { after: ['asked'] } },
  { a: { maxAttempts: 1, whenExhausted: 'skip-cascade' }, b: { after: ['a'] }, c: {} },
]

type Damage = (slug: string, runId: string, pick: number) => string

const set =
  (table: string, assignment: string, and = ''): Damage =>
  (_slug, runId, pick) =>
    `
  update pgflow.${table} t set ${assignment} where t.ctid = (
    select x.ctid from pgflow.${table} x where x.run_id = '${runId}' ${and}
    order by x.ctid offset ${pick} % greatest(1, (select count(*) from pgflow.${table} y where y.run_id = '${runId}' ${and.replaceAll('x.', 'y.')})) limit 1)`
/** Something done to the message of an open task. */
const message =
  (statement: (queue: string, id: string) => string): Damage =>
  (_slug, runId, pick) =>
    `
  do $$
  declare v record;
  begin
    select t.queue_name as queue, t.message_id as id into v from pgflow.step_tasks t
    where t.run_id = '${runId}' and t.status in ('queued', 'started') and t.message_id is not null
    order by t.step_slug, t.task_index offset ${pick} limit 1;
    if v.id is not null then
      execute format('${statement('pgmq.q_%1$s', '%2$s').replaceAll("'", "''")}', v.queue, v.id);
    end if;
  end $$`
const definition =
  (table: string): Damage =>
  (slug, _runId, pick) =>
    `
  delete from pgflow.${table} t where t.ctid = (select x.ctid from pgflow.${table} x where x.flow_slug = '${slug}' order by x.ctid offset ${pick} limit 1)`

const TASKS = ['queued', 'started', 'completed', 'failed', 'skipped', 'cancelled', 'waiting']
const STEPS = ['created', 'started', 'completed', 'failed']
const DAMAGES: Readonly<Record<string, Damage>> = {
  'a message is deleted': message((queue, id) => `delete from ${queue} where msg_id = ${id}`),
  'a message is there twice': message(
    (queue, id) => `insert into ${queue} (vt, message) select vt, message from ${queue} where msg_id = ${id}`,
  ),
  'a message is hidden': message(
    (queue, id) => `update ${queue} set vt = clock_timestamp() + interval '10 minutes' where msg_id = ${id}`,
  ),
  'a message is hidden for ever': message((queue, id) => `update ${queue} set vt = 'infinity' where msg_id = ${id}`),
  'a queue is empty': message((queue) => `delete from ${queue}`),
  'a queue is gone': message((queue) => `drop table ${queue} cascade`),
  'a route is another one': (slug, _runId, pick) => `
    update pgflow.steps set queue_name = lower('${slug}__' || step_index) where flow_slug = '${slug}' and step_index = ${pick}`,
  'a task is in another queue': set('step_tasks', `queue_name = 'elsewhere'`),
  'a task has no message': set('step_tasks', 'message_id = null'),
  'a task has no start': set('step_tasks', 'started_at = null, completed_at = null'),
  'a task is gone': (_slug, runId, pick) => `delete from pgflow.step_tasks t where t.ctid = (
    select x.ctid from pgflow.step_tasks x where x.run_id = '${runId}' order by x.ctid offset ${pick} limit 1)`,
  'a step is gone': (_slug, runId, pick) => `delete from pgflow.step_states t where t.ctid = (
    select x.ctid from pgflow.step_states x where x.run_id = '${runId}' order by x.ctid offset ${pick} limit 1)`,
  'a definition of a step is gone': definition('steps'),
  'a definition of a dependency is gone': definition('deps'),
  'the definition is gone': (slug) => `
    delete from pgflow.deps where flow_slug = '${slug}'; delete from pgflow.steps where flow_slug = '${slug}'; delete from pgflow.flows where flow_slug = '${slug}'`,
  'only the flow is gone': definition('flows'),
  'too many dependencies are to come': set('step_states', 'remaining_deps = remaining_deps + 1'),
  'too few dependencies are to come': set(
    'step_states',
    'remaining_deps = remaining_deps - 1',
    'and x.remaining_deps > 0',
  ),
  'too many tasks are to come': set('step_states', 'remaining_tasks = remaining_tasks + 1'),
  'too few tasks are to come': set('step_states', 'remaining_tasks = remaining_tasks - 1', 'and x.remaining_tasks > 0'),
  'too many steps are to come': set('runs', 'remaining_steps = remaining_steps + 1'),
  'too few steps are to come': set('runs', 'remaining_steps = remaining_steps - 1', 'and x.remaining_steps > 0'),
  'all attempts are used up': set('step_tasks', 'attempts_count = attempts_count + 9'),
  'the workers are gone': (slug) => `delete from pgflow.workers where queue_name like lower('${slug}') || '%'`,
  'a wait is gone': set('waits', "opened_at = null, resumed_at = now(), payload = '1'"),
  'the waits are gone': (_slug, runId) => `delete from pgflow.waits where run_id = '${runId}'`,
  ...Object.fromEntries(
    TASKS.map((status) => [`a task is ${status}`, set('step_tasks', `status = '${status}', output = null`)]),
  ),
  ...Object.fromEntries(
    STEPS.map((status) => [
      `a step is ${status}`,
      set(
        'step_states',
        `status = '${status}', output = null, skip_reason = null, remaining_tasks = case '${status}' when 'created' then null when 'completed' then 0 else t.remaining_tasks end, initial_tasks = coalesce(t.initial_tasks, 1)`,
      ),
    ]),
  ),
}

const kinds = Object.keys(DAMAGES)
let count = 0

/** The outcomes that are fine: the damage was refused, the audit named the run, or the run ended. */
async function outcome(
  steps: Record<string, StepSketch>,
  mode: 'flow' | 'step',
  progress: number,
  kind: string,
  pick: number,
) {
  const slug = `audited${++count}`
  const flow = await CompiledFlow.compileShape(
    sql,
    slug,
    shape(steps, { baseDelay: 0, maxAttempts: 2, timeout: 5 }),
    mode,
  )
  const [runId] = await flow.start([1, 2])
  for (let step = 0; step < progress; step++) await workOnce(flow, steps, runId!, step % 2 === 0)
  try {
    await superuser.begin(async (tx) => {
      await tx`set local session_replication_role = replica`
      await tx.unsafe(DAMAGES[kind]!(slug, runId!, pick))
    })
  } catch (error) {
    // By a constraint of the tables.
    expect(error).toMatchObject({ code: expect.stringMatching(/^23/) })
    return 'refused'
  }
  for (let round = 0; round < ROUNDS; round++) {
    const [run] = await sql`select status from pgflow.runs where run_id = ${runId!}`
    if (run?.status !== 'started') return 'ended'
    const named = await sql`select reason from pgflow.liveness_audit where run_id = ${runId!}`
    if (named.length > 0) return 'named'
    await workOnce(flow, steps, runId!, true)
    await letTimePass(runId!)
    await sql`select pgflow.requeue_stalled_tasks()`
  }
  return 'neither named nor ended'
}

/** One round of fresh workers, one a step: what fails to be claimed or settled is left. */
async function workOnce(flow: CompiledFlow, steps: Record<string, StepSketch>, runId: string, settles: boolean) {
  for (const [stepSlug, { wait }] of Object.entries(steps)) {
    if (wait === true) continue
    const workerId = await flow.register(randomUUID(), `${flow.slug}-${stepSlug}`)
    const tasks = await flow.claim(stepSlug, 10, workerId).catch(() => [])
    if (!settles) return
    for (const task of tasks) {
      const report = task.taskIndex === 1 && stepSlug === 'each' ? failed(task) : completed(task, [runId])
      await flow.core.settleTasks(workerId, [report]).catch(() => {})
    }
  }
}

async function letTimePass(runId: string) {
  await sql`
    update pgflow.step_tasks set started_at = started_at - interval '1 hour', queued_at = queued_at - interval '1 hour' where run_id = ${runId}`
  await sql`update pgflow.waits set due_at = due_at - interval '1 hour' where run_id = ${runId}`
  const queues = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'pgmq'::regnamespace and relname like ${`q_audited${count}%`} and relkind = 'r'`
  for (const { name } of queues)
    await sql.unsafe(`update pgmq.${name} set vt = vt - interval '1 hour' where vt < 'infinity'`)
}

test('whatever is damaged in an open run, the audit names it, or workers bring it to its end', {
  timeout: 900_000,
}, async () => {
  await setWaitKey(sql)
  const seen = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...FLOWS),
      fc.constantFrom('flow' as const, 'step' as const),
      fc.nat({ max: 3 }),
      fc.constantFrom(...kinds),
      fc.nat({ max: 3 }),
      async (steps, mode, progress, kind, pick) => {
        const what = await outcome(steps, mode, progress, kind, pick)
        seen.set(what, (seen.get(what) ?? 0) + 1)
        expect(what, `${kind} in ${JSON.stringify(steps)} (${mode}, after ${progress}, of ${pick})`).not.toBe(
          'neither named nor ended',
        )
      },
    ),
    { numRuns: CASES, seed: SEED, endOnFailure: true },
  )
  expect(seen.get('named')).toBeGreaterThan(0)
  expect(seen.get('ended')).toBeGreaterThan(0)
})
