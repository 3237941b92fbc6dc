import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { ownServer } from '../../../../tests/support/own-server.ts'
import { StarflowSql, type TaskReport } from '../../src/index.ts'
import { CompiledFlow, completed } from '../support/compiled-flow.ts'
import { isLostConnection } from '../support/killable-client.ts'
import { expectAllWell } from '../support/oracle.ts'
import { shape } from '../support/shape.ts'

const WORKERS = 4
const SETTLED_BEFORE_CRASH = 400
const STEPS = { split: {}, each: { map: true, after: ['split'] }, join: { after: ['each'] } }

const server = await ownServer()
const clients: Sql[] = []
const connect = () => {
  const client = postgres(server.url(), { max: 1, onnotice: () => {}, fetch_types: false })
  clients.push(client)
  return client
}
afterAll(async () => {
  await Promise.allSettled(clients.map((client) => client.end({ timeout: 1 })))
})

test('what was accepted before the server crashed in mid-load is there afterwards, and everything goes on', async () => {
  let sql = connect()
  let flow = await CompiledFlow.compileShape(sql, 'crash', shape(STEPS, { baseDelay: 0, maxAttempts: 9 }))
  const started = new Set<string>()
  const accepted: string[] = []
  const problems: unknown[] = []
  const outputOf = ({ stepSlug, taskIndex }: { stepSlug: string; taskIndex: number }) =>
    stepSlug === 'split' ? [1, 2, 3, 4] : { stepSlug, taskIndex }

  const load = async (work: (core: StarflowSql) => Promise<boolean>) => {
    const core = new StarflowSql(connect())
    try {
      while (await work(core));
    } catch (error) {
      if (!isCrash(error)) problems.push(error)
    }
  }
  const worker = (index: number, isOver: () => boolean) => {
    const workerId = randomUUID()
    let reports: TaskReport[] = []
    let turn = index
    return load(async (core) => {
      if (turn === index) await core.registerWorker({ workerId, queueName: 'crash', functionName: `crash-${index}` })
      const stepSlug = Object.keys(STEPS)[turn++ % 3]!
      const { claimed, refused } = await core.settleAndClaim({
        workerId,
        reports,
        queueName: flow.queue(stepSlug),
        flowSlug: flow.slug,
        stepSlug,
        qty: 10,
        onUnsupported: 'skip',
      })
      expect(refused).toEqual([])
      accepted.push(...reports.map((report) => `${report.runId}/${report.stepSlug}/${report.taskIndex}`))
      reports = claimed.map((task) => completed(task, outputOf(task)))
      return reports.length > 0 || !isOver()
    })
  }

  const before = [
    ...Array.from({ length: WORKERS }, (_, index) => worker(index, () => false)),
    load(async (core) => {
      for (const id of await core.startFlows(flow.slug, [1, 2, 3, 4, 5])) started.add(id)
      return true
    }),
  ]
  while (accepted.length < SETTLED_BEFORE_CRASH && problems.length === 0) await pause(5)
  const crashed = server.crash()
  await Promise.all(before)
  await crashed
  expect(problems).toEqual([])
  expect(server.log()).not.toContain('deadlock detected')

  await server.restart()
  expect(server.log()).toContain('automatic recovery in progress')
  sql = connect()
  const rows = await sql<{ run_id: string }[]>`select run_id from pgflow.runs`
  const runs = new Set(rows.map((row) => row.run_id))
  expect(
    [...started].filter((id) => !runs.has(id)),
    'a start that was answered is kept',
  ).toEqual([])
  const tasks = await sql<{ name: string; step_slug: string; task_index: number; output: unknown }[]>`
    select concat_ws('/', run_id, step_slug, task_index) as name, step_slug, task_index, output
    from pgflow.step_tasks where status = 'completed'`
  const kept = new Map(tasks.map((task) => [task.name, task.output]))
  expect(
    accepted.filter((name) => !kept.has(name)),
    'a completion that was answered is kept',
  ).toEqual([])
  for (const task of tasks) {
    expect(task.output).toEqual(outputOf({ stepSlug: task.step_slug, taskIndex: task.task_index }))
  }
  await expectAllWell(sql)

  // The same code starts again, and takes over what the crash had left.
  flow = await CompiledFlow.compileShape(sql, 'crash', shape(STEPS, { baseDelay: 0, maxAttempts: 9 }))
  const held = await sql<{ run_id: string }[]>`select distinct run_id from pgflow.step_tasks where status = 'started'`
  for (const { run_id } of held) await flow.age(run_id, 1000)
  expect(await flow.core.requeueStalledTasks()).toBeGreaterThanOrEqual(held.length)
  // A completion whose answer was lost has happened all the same.
  for (const name of kept.keys()) if (!accepted.includes(name)) accepted.push(name)
  let open = runs.size
  const after = Array.from({ length: WORKERS }, (_, index) => worker(index, () => open === 0))
  while (open > 0 && problems.length === 0) {
    const [row] = await sql<
      [{ open: number }]
    >`select count(*)::integer as open from pgflow.runs where status = 'started'`
    open = row.open
    await pause(10)
  }
  await Promise.all(after)
  expect(problems).toEqual([])
  expect(await sql`select distinct status from pgflow.runs`).toEqual([{ status: 'completed' }])
  await expectAllWell(sql, { accepted })
  expect(server.log()).not.toContain('deadlock detected')
})

/** The server went away, or said that it does. */
function isCrash(error: unknown): boolean {
  const { code } = error as { code?: string }
  return isLostConnection(error) || code === '57P02' || code === 'ECONNREFUSED' || code === '57P03'
}
