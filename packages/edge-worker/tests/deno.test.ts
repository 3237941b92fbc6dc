import type { ChildProcess } from 'node:child_process'
import { StarflowSql } from '@starflow/core'
import { afterEach, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { startDenoProgram } from './support/deno-program.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

async function startDeno(kind: 'edge' | 'deno', flowSlug: string) {
  const program = await startDenoProgram(url, kind, flowSlug)
  children.push(program.child)
  return program
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function outputs(runIds: readonly string[]): Promise<unknown[]> {
  for (;;) {
    const rows = await sql`select output from pgflow.runs where run_id in ${sql([...runIds])} and status = 'completed'`
    if (rows.length === runIds.length) return rows.map(({ output }) => output)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

test('a worker runs unchanged in plain Deno', async () => {
  const { ask } = await startDeno('deno', 'inPlainDeno')
  expect(await ask()).toMatchObject({ http: 200, status: 'started', functionName: 'inPlainDeno_function' })
  expect(await outputs(await core.startFlows('inPlainDeno', [{ n: 20 }]))).toEqual([{ query: 41 }])
})

test('a worker runs in the edge runtime’s shape, and says farewell at beforeunload', async () => {
  const { ask, line, tell } = await startDeno('edge', 'inEdge')
  const { workerId } = (await ask()) as unknown as { workerId: string }
  expect(await outputs(await core.startFlows('inEdge', [{ n: 20 }]))).toEqual([{ query: 41 }])
  tell('beforeunload wall_clock')
  expect(await line(/worker\.stopped/)).toMatch(/reason=wall_clock completedTasks=2 failedTasks=0/)
  await line(/^nothing to wait for$/)
  const [row] = await sql`select stopped_at is not null as stopped from pgflow.workers where worker_id = ${workerId}`
  expect(row).toEqual({ stopped: true })
  expect(await ask()).toMatchObject({ http: 503, status: 'stopping' })
})

test('a worker that its host kills between signal and farewell has made room for another, and its task comes back', async () => {
  const { ask, tell, child } = await startDeno('edge', 'killedEarly')
  const { workerId } = (await ask()) as unknown as { workerId: string }
  const [held] = await core.startFlows('killedEarly', [{ n: 20, hangsOnce: true }])
  const tasks = () =>
    sql`select status, attempts_count from pgflow.step_tasks where flow_slug = 'killedEarly' order by queued_at`
  await until(async () => (await tasks())[0]?.status === 'started')
  tell('beforeunload cpu')
  const worker = async () =>
    (
      await sql`select deprecated_at is not null as deprecated, stopped_at is not null as stopped from pgflow.workers where worker_id = ${workerId}`
    )[0]
  // Long before the 5 s that the handler has: a host gives 2 s, or none.
  await until(async () => (await worker())?.deprecated === true)
  const [late] = await core.startFlows('killedEarly', [{ n: 1 }])
  child.kill('SIGKILL')
  expect(await worker()).toEqual({ deprecated: true, stopped: false })
  expect(await tasks()).toEqual([
    { status: 'started', attempts_count: 1 },
    { status: 'queued', attempts_count: 0 },
  ])

  await (await startDeno('edge', 'killedEarly')).ask()
  expect(await outputs([late!])).toEqual([{ query: 3 }])
  // As if the recovery boundary of the held task had passed.
  await sql`update pgflow.step_tasks set queued_at = queued_at - interval '2 hours', started_at = started_at - interval '1 hour'
    where run_id = ${held!}`
  await sql`select pgmq.set_vt(queue_name, message_id, 0) from pgflow.step_tasks where run_id = ${held!}`
  await sql`select pgflow.requeue_stalled_tasks()`
  expect(await outputs([held!])).toEqual([{ query: 41 }])
})
