import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type ClaimedTask, StarflowSql, type TaskReport } from '../src/index.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

const RUNS_AT_LEAST = 300
const KILLS_AT_LEAST = 10
const RUNS_A_WAVE = 50
const WORKERS = 8
const TIME_LIMIT_MS = 40_000

const STEPS = {
  split: {},
  left: { after: ['split'] },
  right: { after: ['split'] },
  each: { map: true, after: ['split'] },
  join: { after: ['left', 'right', 'each'] },
}

/** Small and seeded, so that a failure can be tried again with the same decisions of each worker. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

/** An output that names the claim it came from, so that the database can be asked which claim was accepted. */
const stamp = (task: ClaimedTask, workerId: string) => {
  const by = `${workerId}/${task.attempt}`
  if (task.stepSlug !== 'split') return { by }
  const { elements } = task.flowInput as { elements: number }
  return Array.from({ length: elements }, () => by)
}

test('under killed connections, crashing workers and zombies every run ends and each output is accepted once', async () => {
  const flow = await CompiledFlow.compileShape(
    sql,
    'chaos',
    shape(STEPS, { maxAttempts: 60, baseDelay: 0, timeout: 1 }),
  )
  await flow.core.setSetting('max_requeues', '1000')
  const queues = Object.keys(STEPS)
  const counts = { killed: 0, lost: 0, zombies: 0, failed: 0, deadlocks: 0 }
  const acceptedTwice: string[] = []
  const accepted = new Set<string>()
  const problems: unknown[] = []
  const zombies: { workerId: string; reports: TaskReport[] }[] = []
  let isOver = false

  /**
   * One connection, and a new client for it after each kill: a query that is sent to a client right after ECONNRESET, before
   * its socket has closed, is never answered (postgres 3.4.9).
   */
  const work = async (index: number) => {
    const random = randomFrom(index + 1)
    const connect = () => database.connect({ settings: { application_name: `chaos ${index}` } })
    let client = connect()
    let workerId = await flow.register(randomUUID())
    while (!isOver) {
      const stepSlug = queues[Math.floor(random() * queues.length)]!
      const core = new StarflowSql(client)
      let mine: { workerId: string; reports: TaskReport[] } | undefined
      try {
        const { claimed } = await core.settleAndClaim({
          workerId,
          reports: [],
          queueName: flow.queue(stepSlug),
          flowSlug: flow.slug,
          stepSlug,
          qty: 1 + Math.floor(random() * 12),
          onUnsupported: 'skip',
        })
        if (claimed.length === 0) continue
        const reports = claimed.map((task) => {
          if (random() < 0.05) return failed(task)
          return completed(task, stamp(task, workerId))
        })
        mine = { workerId, reports }
        if (random() < 0.12) {
          // The worker dies with its tasks; what it had done is reported when another one may hold them.
          counts.lost += claimed.length
          zombies.push(mine)
          workerId = await flow.register(randomUUID())
          continue
        }
        for (const [position, result] of (await core.settleTasks(workerId, reports)).entries()) {
          if (!result.accepted || reports[position]!.status === 'failed') continue
          const name = `${result.runId}/${result.stepSlug}/${result.taskIndex}`
          if (accepted.has(name)) acceptedTwice.push(name)
          accepted.add(name)
        }
        counts.failed += reports.filter((report) => report.status === 'failed').length
      } catch (error) {
        if (error instanceof postgres.PostgresError && error.code === '40P01') counts.deadlocks += 1
        else if (!isLostConnection(error)) problems.push(error)
        // Whether the settlement was committed is not known: exactly the case that a repeated report must be safe for.
        if (mine !== undefined) zombies.push(mine)
        void client.end({ timeout: 0 })
        client = connect()
      }
    }
    await client.end()
  }

  const working = Array.from({ length: WORKERS }, (_, index) => work(index))
  const random = randomFrom(99)
  const deadline = Date.now() + TIME_LIMIT_MS
  let started = 0
  for (let open = 0; Date.now() < deadline; ) {
    const hasWithstoodEnough = started >= RUNS_AT_LEAST && counts.killed >= KILLS_AT_LEAST
    if (!hasWithstoodEnough && open < RUNS_A_WAVE) {
      await flow.start(...Array.from({ length: RUNS_A_WAVE }, (_, n) => ({ elements: n % 4 })))
      started += RUNS_A_WAVE
    }
    if (random() < 0.7) {
      const killed = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'chaos %' and state = 'active'
          and query like '%pgflow.%'
        order by application_name offset ${Math.floor(random() * 3)} limit 1`
      counts.killed += killed.length
    }
    // A lost task is past its recovery boundary at once: nobody waits for the clock here. Only what no worker works on.
    await sql`
      update pgflow.step_tasks t set
        started_at = t.started_at - interval '60 s', queued_at = t.queued_at - interval '60 s'
      from (
        select e.run_id, e.step_slug, e.task_index from pgflow.step_tasks e
        where e.status = 'started' and e.started_at < clock_timestamp() - interval '200 milliseconds'
          and e.started_at > clock_timestamp() - interval '10 s'
        for update skip locked
      ) old
      where t.run_id = old.run_id and t.step_slug = old.step_slug and t.task_index = old.task_index and t.status = 'started'`
    await flow.core.requeueStalledTasks()
    for (const { workerId, reports } of zombies.splice(0, 3)) {
      counts.zombies += reports.length
      for (const result of await flow.core.settleTasks(workerId, reports)) {
        if (!result.accepted) continue
        const name = `${result.runId}/${result.stepSlug}/${result.taskIndex}`
        const isCompletion = reports.some(
          (report) =>
            report.status === 'completed' &&
            report.runId === result.runId &&
            report.stepSlug === result.stepSlug &&
            report.taskIndex === result.taskIndex,
        )
        if (!isCompletion) continue
        if (accepted.has(name)) acceptedTwice.push(name)
        accepted.add(name)
      }
    }
    const [row] = await sql<[{ open: number }]>`
      select count(*)::integer as open from pgflow.runs where flow_slug = 'chaos' and status = 'started'`
    open = row.open
    if (open === 0 && hasWithstoodEnough) break
  }
  isOver = true
  await Promise.all(working)
  for (const { workerId, reports } of zombies) {
    expect((await flow.core.settleTasks(workerId, reports)).filter((result) => result.accepted)).toEqual([])
  }

  expect(problems).toEqual([])
  expect(counts.deadlocks).toBe(0)
  expect(acceptedTwice).toEqual([])
  expect(await sql`select status, count(*)::integer from pgflow.runs group by 1`).toEqual([
    { status: 'completed', count: started },
  ])
  expect(
    await sql`
      select run_id from pgflow.runs r where (select count(*) from pgflow.step_tasks t where t.run_id = r.run_id and t.status = 'completed')
        <> 4 + (r.input ->> 'elements')::integer`,
  ).toEqual([])
  expect(await sql`select from pgflow.step_tasks where status <> 'completed'`).toHaveLength(0)
  expect(
    await sql`
      select run_id, step_slug, task_index from pgflow.step_tasks
      where coalesce(output ->> 'by', output ->> 0) <> last_worker_id || '/' || attempts_count`,
    'every output is that of the claim that the task records',
  ).toEqual([])
  expect(
    await sql`
      select s.run_id from pgflow.step_states s where s.step_slug = 'each' and s.output <> (
        select coalesce(jsonb_agg(t.output order by t.task_index), '[]') from pgflow.step_tasks t
        where t.run_id = s.run_id and t.step_slug = 'each')`,
    'the output of every map holds the output of each element',
  ).toEqual([])
  for (const step of queues) expect(await flow.depth(step), `queue of ${step}`).toBe(0)
  // It must have had something to withstand.
  expect(counts.killed).toBeGreaterThanOrEqual(KILLS_AT_LEAST)
  expect(counts.lost).toBeGreaterThan(20)
  expect(counts.zombies).toBeGreaterThan(20)
}, 60_000)

function isLostConnection(error: unknown): boolean {
  const code = (error as { code?: string }).code
  return (
    code === '57P01' ||
    code === 'CONNECTION_CLOSED' ||
    code === 'CONNECTION_ENDED' ||
    code === 'ECONNRESET' ||
    code === 'EPIPE'
  )
}
