import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { StarflowSql } from '@starflow/core'
import { Flow } from '@starflow/dsl'
import { afterEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { workerFunctionOn } from './support/running-function.ts'
import { startWorkerProgram, type WorkerProgram, type WorkerProgramKind } from './support/worker-program.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

const CLOCK = fileURLToPath(new URL('./support/shifted-clock.ts', import.meta.url))

/** A worker program in Node. */
function startProcess(kind: WorkerProgramKind, name: string, env?: Record<string, string>): WorkerProgram {
  const program = startWorkerProgram({ databaseUrl: url, kind, name, env })
  children.push(program.child)
  return program
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

const statusOf = async (runId: string) => (await sql`select status from pgflow.runs where run_id = ${runId}`)[0]?.status
const tasksOf = (runId: string) =>
  sql`select status, attempts_count from pgflow.step_tasks where run_id = ${runId} order by step_slug`
const liveWorkers = async (name: string) =>
  (
    await sql<{ worker_id: string }[]>`
      select worker_id from pgflow.workers where function_name = ${name} and stopped_at is null and deprecated_at is null`
  ).map(({ worker_id }) => worker_id)

describe('a worker in a Node process', () => {
  test('starts by itself, is never pinged, runs a flow to its end, and tells its tasks and its CPU', async () => {
    const worker = startProcess('flow', 'inNode')
    await worker.said('worker.started')
    expect(await sql`select start_mode, enabled from pgflow.worker_functions where function_name = 'inNode'`).toEqual([
      { start_mode: 'process', enabled: true },
    ])
    const [runId] = await core.startFlows('inNode', [{ ms: 0 }])
    await until(async () => (await statusOf(runId!)) === 'completed')
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toEqual({ code: 0, signal: null })
    expect(await liveWorkers('inNode')).toEqual([])
    // A process knows what it has used; how much that is, is the computer's affair.
    expect(
      await sql`select tasks_count, cpu_ms > 0 as has_used, execution_id is not null as has_place from pgflow.workers where function_name = 'inNode'`,
    ).toEqual([{ tasks_count: 1, has_used: true, has_place: true }])
  })

  test.each([-3_600_000, 3_600_000])(
    'may have a clock that is %d ms off: only the database has the time',
    async (shiftMs) => {
      const name = shiftMs < 0 ? 'hourSlow' : 'hourFast'
      const dbNow = async () => (await sql<[{ now: Date }]>`select clock_timestamp() as now`)[0].now.getTime()
      const before = await dbNow()
      const worker = startProcess('failing once', name, {
        NODE_OPTIONS: `--import tsx --import ${CLOCK}`,
        STARFLOW_TEST_CLOCK_SHIFT_MS: String(shiftMs),
      })
      const shown = Date.parse((await worker.said('its clock says ')).slice('its clock says '.length))
      expect(Math.abs(shown - Date.now() - shiftMs)).toBeLessThan(600_000)
      await worker.said('worker.started')
      const [runId] = await core.startFlows(name, [{ ms: 0 }])
      await until(async () => (await statusOf(runId!)) === 'completed')
      const [task] = await sql<Record<string, Date>[]>`
      select t.queued_at, a.started_at as failed_start, a.ended_at as failed_end, t.started_at, t.completed_at, clock_timestamp() as looked_at
      from pgflow.step_tasks t join pgflow.task_attempts a on a.run_id = t.run_id where t.run_id = ${runId!}`
      const instants = [before, ...Object.values(task!).map((at) => at.getTime())]
      expect(instants).toEqual(instants.toSorted((left, right) => left - right))
      // The delay of the step, 2 s after the first failure, is neither skipped nor an hour longer.
      expect(task!.started_at!.getTime() - task!.failed_end!.getTime()).toBeGreaterThanOrEqual(1900)
      expect(await sql`select live_workers from pgflow.queue_coverage where flow_slug = ${name}`).toEqual([
        { live_workers: 1 },
      ])
      expect(worker.lines.filter((line) => /warn|error/i.test(line) && !line.includes('task.failed'))).toEqual([])
      worker.child.kill('SIGTERM')
      expect(await worker.ended).toEqual({ code: 0, signal: null })
    },
  )

  test('works a queue without a flow', async () => {
    await sql`select pgmq.create('node_mails')`
    const worker = startProcess('queue', 'node_mails')
    await worker.said('worker.started')
    await sql`select pgmq.send('node_mails', '{"ms": 0}'::jsonb)`
    await until(async () => (await sql`select from pgmq.a_node_mails`).length === 1)
    worker.child.kill('SIGINT')
    expect((await worker.ended).code).toBe(0)
  })

  test('at SIGTERM finishes what is started, claims nothing more, and ends with 0', async () => {
    const worker = startProcess('flow', 'drains')
    await worker.said('worker.started')
    const [first] = await core.startFlows('drains', [{ ms: 1500 }])
    await worker.said('began')
    worker.child.kill('SIGTERM')
    await worker.said('worker.deprecated')
    const [second] = await core.startFlows('drains', [{ ms: 0 }])
    expect(await worker.ended).toEqual({ code: 0, signal: null })
    expect(await statusOf(first!)).toBe('completed')
    expect(await tasksOf(second!)).toEqual([{ status: 'queued', attempts_count: 0 }])
  })

  test('drains no longer than it may, then gives handlers the shutdown grace: a short task is recorded, a long one comes back', async () => {
    const worker = startProcess('flow', 'drainLimit', { STARFLOW_DRAIN_TIMEOUT_MS: '2000' })
    await worker.said('worker.started')
    const [short, long] = await core.startFlows('drainLimit', [{ ms: 1000 }, { ms: 600_000 }])
    await worker.said('began', 2)
    worker.child.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
    expect(JSON.parse(await worker.said('worker.stopped'))).toMatchObject({ reason: 'SIGTERM', leftTasks: 1 })
    expect(await statusOf(short!)).toBe('completed')
    expect(await tasksOf(long!)).toEqual([{ status: 'started', attempts_count: 1 }])
    // As if its recovery boundary had passed.
    await sql`update pgflow.step_tasks set queued_at = queued_at - interval '2 hours', started_at = started_at - interval '1 hour'
      where run_id = ${long!}`
    await sql`select pgmq.set_vt(queue_name, message_id, 0) from pgflow.step_tasks where run_id = ${long!}`
    await sql`select pgflow.requeue_stalled_tasks()`
    expect(await tasksOf(long!)).toEqual([{ status: 'queued', attempts_count: 1 }])
  })

  test('ends at once at a second signal', async () => {
    const worker = startProcess('flow', 'secondSignal')
    await worker.said('worker.started')
    await core.startFlows('secondSignal', [{ ms: 60_000 }])
    await worker.said('began')
    worker.child.kill('SIGTERM')
    await worker.said('worker.deprecated')
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toEqual({ code: 143, signal: null })
  })

  test('claims nothing while its function is disabled, waits with one row, and goes on when it is enabled', async () => {
    await core.trackWorkerFunction('fencedNode', 'process')
    await sql`update pgflow.worker_functions set enabled = false where function_name = 'fencedNode'`
    const worker = startProcess('flow', 'fencedNode')
    await worker.said('worker.fenced')
    const [runId] = await core.startFlows('fencedNode', [{ ms: 0 }])
    const registeredAt = async () =>
      (
        await sql<{ at: string }[]>`
        select started_at::text as at from pgflow.workers where function_name = 'fencedNode'`
      )[0]!.at
    const before = await registeredAt()
    await until(async () => (await registeredAt()) !== before)
    expect(await sql`select from pgflow.workers where function_name = 'fencedNode'`).toHaveLength(1)
    expect(await tasksOf(runId!)).toEqual([{ status: 'queued', attempts_count: 0 }])
    await sql`update pgflow.worker_functions set enabled = true where function_name = 'fencedNode'`
    await until(async () => (await statusOf(runId!)) === 'completed')
    expect(worker.lines.filter((line) => line.includes('worker.fenced'))).toHaveLength(1)
  })

  test('gives way to a fence while it runs, and comes back when the fence is lifted', async () => {
    const worker = startProcess('flow', 'fencedLater')
    await worker.said('worker.started')
    await sql`update pgflow.worker_functions set enabled = false where function_name = 'fencedLater'`
    await worker.said('worker.stopped')
    const [runId] = await core.startFlows('fencedLater', [{ ms: 0 }])
    await worker.said('worker.fenced')
    expect(await tasksOf(runId!)).toEqual([{ status: 'queued', attempts_count: 0 }])
    await sql`update pgflow.worker_functions set enabled = true where function_name = 'fencedLater'`
    await until(async () => (await statusOf(runId!)) === 'completed')
    expect(worker.child.exitCode).toBeNull()
  })

  test('replaces a worker that the database deprecated by another one', async () => {
    const worker = startProcess('flow', 'deprecated')
    await worker.said('worker.started')
    const [old] = await liveWorkers('deprecated')
    await core.deprecateWorker(old!)
    await worker.said('worker.started', 2)
    const live = await liveWorkers('deprecated')
    expect(live).toHaveLength(1)
    expect(live[0]).not.toBe(old)
  })

  test('that halts on a foreign message claims nothing until its function is enabled again', async () => {
    const worker = startProcess('halting', 'halts')
    await worker.said('worker.started')
    const [message] = await sql<{ id: string }[]>`select pgmq.send('halts', '{"made": "by hand"}'::jsonb) as id`
    await worker.said('worker.halted')
    await worker.said('worker.fenced')
    const [runId] = await core.startFlows('halts', [{ ms: 0 }])
    await sql`select pgmq.archive('halts', ${message!.id}::bigint)`
    expect(await tasksOf(runId!)).toEqual([{ status: 'queued', attempts_count: 0 }])
    await sql`select pgflow.enable_worker_functions(array['halts'])`
    await until(async () => (await statusOf(runId!)) === 'completed')
    expect(worker.lines.join('\n')).not.toContain('by hand')
  })

  test('waits for a database that is away', async () => {
    const worker = startProcess('flow', 'noDatabase', { STARFLOW_DB_URL: 'postgres://nobody:x@127.0.0.1:1/none' })
    await worker.said('worker.start_failed', 2)
    worker.child.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  test('ends with 1 when its flow is compiled with another shape', async () => {
    const running = workerFunctionOn(
      url,
      new Flow({ slug: 'otherShape' }).step({ slug: 'work' }, () => 1).step({ slug: 'more' }, () => 2),
    )
    await running.ask()
    await running.stop()
    const worker = startProcess('flow', 'otherShape')
    expect(await worker.ended).toEqual({ code: 1, signal: null })
    expect(await worker.said('worker.start_failed')).toContain('SF108')
  })

  test('ends with 1 when it is told no database', async () => {
    const worker = startProcess('flow', 'noUrl', { STARFLOW_DB_URL: '', SUPABASE_DB_URL: '', DATABASE_URL: '' })
    expect(await worker.ended).toEqual({ code: 1, signal: null })
    expect(worker.lines.join('\n')).toContain('SF002')
  })
})
