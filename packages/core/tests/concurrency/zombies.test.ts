import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, expect, test } from 'vitest'
import { COMPILED } from '../../../../tests/support/compiled.ts'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from '../support/compiled-flow.ts'
import { expectAllWell } from '../support/oracle.ts'
import { serverLog } from '../support/server-log.ts'
import { shape } from '../support/shape.ts'

const database = await testDatabase()
const { sql } = database

const SCRIPT = fileURLToPath(new URL('../support/slow-worker.ts', import.meta.url))
const STEPS = { a: {}, b: { after: ['a'] } }
const STOP_TIMEOUT_MS = 10_000

let count = 0
const compile = (options = {}) =>
  CompiledFlow.compileShape(sql, `zombie${++count}`, shape(STEPS, { baseDelay: 0, ...options }))

const processes: ChildProcess[] = []
afterEach(async () => {
  for (const child of processes.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    // SIGKILL ends a stopped process too.
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await expectAllWell(sql)
})
afterAll(() => {
  expect(serverLog(database, 'deadlock detected')).toEqual([])
})

/** A worker in its own process that has claimed what there is and was then stopped. */
async function stoppedWorker(flow: CompiledFlow) {
  const workerId = await flow.register(randomUUID())
  const child = spawn(
    process.execPath,
    [...COMPILED, SCRIPT, database.url, flow.queue('a'), flow.slug, 'a', workerId],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  processes.push(child)
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const hear = async (): Promise<unknown> => {
    const line = await lines.next()
    if (line.done === true) throw new Error('The worker ended without a word.')
    return JSON.parse(line.value)
  }
  const claimed = await hear()
  child.kill('SIGSTOP')
  await untilStopped(child.pid!)
  return {
    claimed,
    /** Lets it go on: it reports, and claims again. */
    wake: async () => {
      child.stdin!.write('report\n')
      child.kill('SIGCONT')
      return [await hear(), await hear()]
    },
  }
}

/** A signal is sent, not delivered, when `kill` returns. */
async function untilStopped(pid: number): Promise<void> {
  const deadline = Date.now() + STOP_TIMEOUT_MS
  while (Date.now() < deadline) {
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
    if (stdout.trim().startsWith('T')) return
    await pause(5)
  }
  throw new Error(`Process ${pid} was never stopped.`)
}

test('a worker stopped in mid-task is refused when it wakes after another one has completed the task', async () => {
  const flow = await compile()
  const [runId] = await flow.start({})
  const zombie = await stoppedWorker(flow)
  expect(zombie.claimed).toEqual({ claimed: [1] })
  await flow.age(runId!, 1000)
  expect(await flow.core.requeueStalledTasks()).toBe(1)
  const [task] = await flow.claim('a')
  await flow.core.settleTasks(flow.workerId, [completed(task!, 'other')])
  expect(await zombie.wake()).toMatchObject([
    { settled: [{ accepted: false, reason: 'task is completed' }] },
    { claimed: [] },
  ])
  expect(await flow.claim('b')).toMatchObject([{ input: { a: 'other' } }])
})

test('it is refused while the other one still works on the task, which then completes', async () => {
  const flow = await compile()
  const [runId] = await flow.start({})
  const zombie = await stoppedWorker(flow)
  await flow.age(runId!, 1000)
  // Met by the claim itself: recovery does not depend on cron.
  expect(await flow.claim('a')).toEqual([])
  const [task] = await flow.claim('a')
  expect(task).toMatchObject({ attempt: 2 })
  expect(await zombie.wake()).toMatchObject([
    { settled: [{ accepted: false, reason: 'stale attempt: the task is at attempt 2' }] },
    { claimed: [] },
  ])
  expect(await flow.core.settleTasks(flow.workerId, [completed(task!, 'other')])).toMatchObject([{ accepted: true }])
})

test('it is refused while the task waits in the queue again, and may then claim it as a new attempt', async () => {
  const flow = await compile()
  const [runId] = await flow.start({})
  const zombie = await stoppedWorker(flow)
  await flow.age(runId!, 1000)
  await flow.core.requeueStalledTasks()
  expect(await zombie.wake()).toMatchObject([
    { settled: [{ accepted: false, reason: 'already settled: task is queued' }] },
    { claimed: [2] },
  ])
})

test('it is refused after its run has failed or was cancelled', async () => {
  const flow = await compile({ maxAttempts: 2 })
  const [fails, cancelled] = await flow.start(1, 2)
  const zombie = await stoppedWorker(flow)
  expect(zombie.claimed).toEqual({ claimed: [1, 1] })
  await flow.age(fails!, 1000)
  await flow.core.requeueStalledTasks()
  const [task] = await flow.claim('a')
  await flow.core.settleTasks(flow.workerId, [failed(task!, { permanent: true })])
  await sql`select from pgflow.cancel_run(${cancelled!})`
  const [{ settled }] = (await zombie.wake()) as [{ settled: { runId: string; reason: string }[] }]
  expect(new Map(settled.map((result) => [result.runId, result.reason]))).toEqual(
    new Map([
      [fails, 'task is failed'],
      [cancelled, 'already settled: task is cancelled'],
    ]),
  )
})

test('one that wakes before its recovery boundary is still in time', async () => {
  const flow = await compile()
  const [runId] = await flow.start({})
  const zombie = await stoppedWorker(flow)
  // Past the visibility of its claim: another worker sees the message, and leaves it.
  await flow.age(runId!, 70)
  expect(await flow.claim('a')).toEqual([])
  expect(await zombie.wake()).toMatchObject([{ settled: [{ accepted: true }] }, { claimed: [] }])
  expect(await flow.claim('b')).toMatchObject([{ input: { a: 'zombie' } }])
})
