import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { readFunctions, readWorkers } from '../src/operations/index.ts'
import { refusal } from './support/refusal.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

interface Placed {
  readonly functionName?: string
  readonly queueName?: string
  readonly executionId?: string
}

/** A worker that has registered from an isolate. */
async function worker({ functionName = 'f', queueName = functionName, executionId = randomUUID() }: Placed = {}) {
  const workerId = randomUUID()
  await core.registerWorker({ workerId, queueName, functionName, executionId })
  return { workerId, executionId }
}

const figuresOf = async (workerId: string) =>
  (await sql`select tasks_count, cpu_ms::float8 from pgflow.workers where worker_id = ${workerId}`)[0]

/** The worker as an operator sees it. */
async function listed(workerId: string) {
  const workers = await readWorkers(sql, { all: true, limit: 100 })
  const { tasks, cpuMs, cpuMsPerTask, workersInExecution } = workers.find((each) => each.workerId === workerId)!
  return { tasks, cpuMs, cpuMsPerTask, workersInExecution }
}

async function listedFunction(functionName = 'f') {
  const functions = await readFunctions(sql)
  const { measuredWorkers, cpuMsPerTask } = functions.find((each) => each.functionName === functionName)!
  return { measuredWorkers, cpuMsPerTask }
}

beforeEach(async () => {
  await sql`delete from pgflow.workers`
  await sql`delete from pgflow.worker_functions`
})

describe('CPU that was measured from outside', () => {
  test('goes to the workers of these isolates, and is rounded to milliseconds; other ids are passed over', async () => {
    const [a, b, other] = [await worker(), await worker(), await worker()]
    expect(await core.reportCpu({ [a.executionId]: 120, [b.executionId]: 80.4, [randomUUID()]: 7 })).toBe(2)
    expect(await figuresOf(a.workerId)).toMatchObject({ cpu_ms: 120 })
    expect(await figuresOf(b.workerId)).toMatchObject({ cpu_ms: 80 })
    expect(await figuresOf(other.workerId)).toMatchObject({ cpu_ms: null })
  })

  test('never becomes smaller, and what does not grow is not written', async () => {
    const { workerId, executionId } = await worker()
    await core.reportCpu({ [executionId]: 120 })
    const place = async () => (await sql`select ctid::text from pgflow.workers where worker_id = ${workerId}`)[0]
    const before = await place()
    expect(await core.reportCpu({ [executionId]: 120 })).toBe(0)
    expect(await core.reportCpu({ [executionId]: 40 })).toBe(0)
    expect([await place(), await figuresOf(workerId)]).toMatchObject([before, { cpu_ms: 120 }])
  })

  test('comes also after the worker has stopped, as the platform tells it at the end', async () => {
    const { workerId, executionId } = await worker()
    await core.markWorkerStopped(workerId)
    expect(await core.reportCpu({ [executionId]: 300 })).toBe(1)
    expect(await figuresOf(workerId)).toMatchObject({ cpu_ms: 300 })
  })

  test('finds a worker of the released line by its id, which is that of its isolate', async () => {
    const workerId = randomUUID()
    await sql`insert into pgflow.workers (worker_id, queue_name, function_name) values (${workerId}, 'q', 'f')`
    expect(await core.reportCpu({ [workerId]: 55 })).toBe(1)
    expect(await listed(workerId)).toEqual({ tasks: null, cpuMs: 55, cpuMsPerTask: null, workersInExecution: 1 })
  })

  test('begins anew when an isolate is restarted under its id and its worker registers again', async () => {
    const { workerId, executionId } = await worker()
    await core.reportUsage(workerId, { tasks: 9, cpuMs: null })
    await core.reportCpu({ [executionId]: 300 })
    await core.registerWorker({ workerId, queueName: 'f', functionName: 'f', executionId })
    expect(await figuresOf(workerId)).toEqual({ tasks_count: 0, cpu_ms: null })
  })

  test('does not wait for a row that somebody holds: it has its figure with the next report', async () => {
    const [held, free] = [await worker(), await worker()]
    const cpuMs = { [held.executionId]: 10, [free.executionId]: 20 }
    await sql.begin(async (tx) => {
      await tx`update pgflow.workers set last_heartbeat_at = now() where worker_id = ${held.workerId}`
      expect(await core.reportCpu(cpuMs)).toBe(1)
    })
    expect(await figuresOf(held.workerId)).toMatchObject({ cpu_ms: null })
    expect(await core.reportCpu(cpuMs)).toBe(1)
    expect(await figuresOf(held.workerId)).toMatchObject({ cpu_ms: 10 })
  })

  test.each([
    ['[]', 'Got array.'],
    ['{"not-an-id": 1}', 'Got "not-an-id": 1.'],
    ['{"11111111-1111-4111-8111-111111111111": "7"}', 'Got "11111111-1111-4111-8111-111111111111": "7".'],
    ['{"11111111-1111-4111-8111-111111111111": -1}', 'Got "11111111-1111-4111-8111-111111111111": -1.'],
    ['{"11111111-1111-4111-8111-111111111111": 1e300}', /^Got "11111111-1111-4111-8111-111111111111": 1000/],
  ])('is refused as %s, and nothing is changed', async (report, detail) => {
    const { workerId } = await worker({ executionId: '22222222-2222-4222-8222-222222222222' })
    const whole = report.startsWith('{') ? report.replace('{', '{"22222222-2222-4222-8222-222222222222": 5, ') : report
    const refused = await refusal(sql`select pgflow.report_cpu(${whole}::text::jsonb)`)
    expect(refused).toMatchObject({ code: 'SF303', detail: expect.stringMatching(detail) })
    expect(await figuresOf(workerId)).toMatchObject({ cpu_ms: null })
  })

  test('is taken from the server, and from no client', async () => {
    const { executionId } = await worker()
    const report = JSON.stringify({ [executionId]: 5 })
    const service = database.as('service_role')
    expect(await service`select pgflow.report_cpu(${report}::text::jsonb) as grown`).toEqual([{ grown: 1 }])
    for (const role of ['anon', 'authenticated'] as const) {
      const client = database.as(role)
      expect((await refusal(client`select pgflow.report_cpu(${report}::text::jsonb)`)).code).toBe('42501')
    }
  })
})

describe('what a worker tells of itself', () => {
  test('are its tasks, none at first, and its CPU where it can measure it; neither becomes smaller', async () => {
    const { workerId } = await worker()
    expect(await figuresOf(workerId)).toEqual({ tasks_count: 0, cpu_ms: null })
    await core.reportUsage(workerId, { tasks: 12, cpuMs: null })
    expect(await figuresOf(workerId)).toEqual({ tasks_count: 12, cpu_ms: null })
    await core.reportUsage(workerId, { tasks: 15, cpuMs: 30.2 })
    await core.reportUsage(workerId, { tasks: 14, cpuMs: 29 })
    expect(await figuresOf(workerId)).toEqual({ tasks_count: 15, cpu_ms: 30 })
  })

  test('is 0 or more, whoever writes it', async () => {
    await worker()
    for (const figure of ['tasks_count', 'cpu_ms']) {
      expect(await refusal(sql`update pgflow.workers set ${sql(figure)} = -1`)).toMatchObject({ code: '23514' })
    }
  })
})

describe('CPU per task', () => {
  test('is not known of a worker that nobody has measured, and of one without a task', async () => {
    const [unmeasured, idle] = [await worker(), await worker({ functionName: 'idle' })]
    await core.reportUsage(unmeasured.workerId, { tasks: 3, cpuMs: null })
    await core.reportCpu({ [idle.executionId]: 90 })
    expect(await listed(unmeasured.workerId)).toMatchObject({ tasks: 3, cpuMs: null, cpuMsPerTask: null })
    expect(await listed(idle.workerId)).toMatchObject({ tasks: 0, cpuMs: 90, cpuMsPerTask: null })
    expect(await listedFunction()).toEqual({ measuredWorkers: 0, cpuMsPerTask: null })
    expect(await listedFunction('idle')).toEqual({ measuredWorkers: 1, cpuMsPerTask: null })
  })

  test('of workers in one isolate is its CPU by the tasks of all of them, also of one that has stopped', async () => {
    const executionId = randomUUID()
    const [a, b, c] = [
      await worker({ queueName: 'qa', executionId }),
      await worker({ queueName: 'qb', executionId }),
      await worker({ queueName: 'qc', executionId }),
    ]
    await core.reportUsage(a.workerId, { tasks: 30, cpuMs: null })
    await core.reportUsage(b.workerId, { tasks: 10, cpuMs: null })
    await core.markWorkerStopped(b.workerId)
    await core.reportCpu({ [executionId]: 100 })
    for (const { workerId } of [a, b, c]) {
      expect(await listed(workerId)).toMatchObject({ cpuMs: 100, cpuMsPerTask: 2.5, workersInExecution: 3 })
    }
    expect(await listedFunction()).toEqual({ measuredWorkers: 3, cpuMsPerTask: 2.5 })
  })

  test('of a process that its workers measure is the largest of their figures by all tasks', async () => {
    const executionId = randomUUID()
    const [a, b] = [await worker({ queueName: 'qa', executionId }), await worker({ queueName: 'qb', executionId })]
    await core.reportUsage(a.workerId, { tasks: 5, cpuMs: 40 })
    await core.reportUsage(b.workerId, { tasks: 15, cpuMs: 60 })
    expect(await listed(a.workerId)).toMatchObject({ cpuMs: 60, cpuMsPerTask: 3, workersInExecution: 2 })
    expect(await listedFunction()).toEqual({ measuredWorkers: 2, cpuMsPerTask: 3 })
  })

  test('of a function weighs its measured lives by their tasks, and leaves out those that nobody measured', async () => {
    const [busy, idle, unmeasured] = [await worker(), await worker(), await worker()]
    await core.reportUsage(busy.workerId, { tasks: 90, cpuMs: null })
    await core.reportUsage(idle.workerId, { tasks: 10, cpuMs: null })
    await core.reportUsage(unmeasured.workerId, { tasks: 1000, cpuMs: null })
    await core.reportCpu({ [busy.executionId]: 90, [idle.executionId]: 60 })
    expect(await listedFunction()).toEqual({ measuredWorkers: 2, cpuMsPerTask: 1.5 })
  })

  test('of a function is that of the last hour, and of workers that go on since before', async () => {
    const [ended, going] = [await worker(), await worker()]
    await core.reportUsage(ended.workerId, { tasks: 1, cpuMs: 1000 })
    await core.reportUsage(going.workerId, { tasks: 10, cpuMs: 20 })
    await core.markWorkerStopped(ended.workerId)
    await sql`update pgflow.workers set started_at = now() - interval '2 hours'`
    expect(await listedFunction()).toEqual({ measuredWorkers: 1, cpuMsPerTask: 2 })
  })

  test('of a function leaves out a process that was killed before, which never says that it stopped', async () => {
    const [killed, going] = [await worker(), await worker()]
    await core.reportUsage(killed.workerId, { tasks: 1, cpuMs: 1000 })
    await core.reportUsage(going.workerId, { tasks: 10, cpuMs: 20 })
    await sql`update pgflow.workers set started_at = now() - interval '2 hours'`
    await sql`update pgflow.workers set last_heartbeat_at = now() - interval '90 minutes' where worker_id = ${killed.workerId}`
    expect(await listedFunction()).toEqual({ measuredWorkers: 1, cpuMsPerTask: 2 })
  })
})
