import { randomUUID } from 'node:crypto'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'
import { SampleProject } from './support/sample-project.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

/** A command line on the test's database, with its JSON result. */
async function run(...args: string[]) {
  const at = args.indexOf('--')
  const before = at === -1 ? args : args.slice(0, at)
  const after = at === -1 ? [] : args.slice(at)
  const { exitCode, stdout, stderr } = await starflow(...before, '--json', '--database-url', database.url, ...after)
  // biome-ignore lint/suspicious/noExplicitAny: each test looks at what it asked for.
  return { exitCode, result: JSON.parse(stdout || 'null') as any, stderr }
}

async function text(...args: string[]) {
  return await starflow(...args, '--database-url', database.url)
}

async function compile(slug: string): Promise<void> {
  const flow = withStepQueues(
    new Flow<number>({ slug }).step({ slug: 'a' }, (n) => n).step({ slug: 'b', dependsOn: ['a'] }, ({ a }) => a),
  )
  await core.ensureFlowCompiled({
    flowSlug: slug,
    shape: extractFlowShape(flow.flow),
    queueMode: 'step',
    routeMap: flow.routes,
  })
}

const register = async (functionName: string, queueName = functionName) => {
  const workerId = randomUUID()
  await core.registerWorker({ workerId, queueName, functionName })
  return workerId
}
const enabled = async () =>
  Object.fromEntries(
    (await sql`select function_name, enabled from pgflow.worker_functions`).map((row) => [
      row.function_name,
      row.enabled,
    ]),
  )

beforeEach(async () => {
  for (const { slug } of await sql<{ slug: string }[]>`select flow_slug as slug from pgflow.flows`) {
    await sql`select pgflow.delete_flow_and_data(${slug})`
  }
  await sql`delete from pgflow.workers`
  await sql`delete from pgflow.worker_functions`
  await compile('orders')
})

describe('the database', () => {
  const without = async (args: string[], databaseUrl?: string) => {
    const { DATABASE_URL } = process.env
    if (databaseUrl === undefined) delete process.env.DATABASE_URL
    else process.env.DATABASE_URL = databaseUrl
    try {
      return await starflow(...args, '--json')
    } finally {
      if (DATABASE_URL === undefined) delete process.env.DATABASE_URL
      else process.env.DATABASE_URL = DATABASE_URL
    }
  }

  test('is taken from DATABASE_URL when no option names it', async () => {
    const { exitCode, stdout } = await without(['workers'], database.url)
    expect({ exitCode, result: JSON.parse(stdout) }).toEqual({ exitCode: 0, result: { workers: [], functions: [] } })
  })

  test.each([
    ['nothing listens there', 'postgres://ana:hunter2@127.0.0.1:1/db', 'ECONNREFUSED'],
    ['the URL is none', 'postgres://ana:hunter2@[/db', ''],
  ])('is refused with SF631 and without its password where %s', async (_what, url, detail) => {
    const { exitCode, stdout, stderr } = await starflow('workers', '--json', '--database-url', url)
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'SF631', detail: expect.stringContaining(detail) } })
    expect(stdout + stderr).not.toContain('hunter2')
  })

  test('is refused with SF403 where its functions are of another version, with what was missing', async () => {
    await sql`alter function starflow.list_functions() rename to list_functions_of_old`
    const { exitCode, stdout } = await starflow('workers', '--json', '--database-url', database.url).finally(
      () => sql`alter function starflow.list_functions_of_old() rename to list_functions`,
    )
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      error: {
        code: 'SF403',
        detail: 'function starflow.list_functions() does not exist (SQLSTATE 42883)',
        hint: expect.stringContaining('npx supabase migration up'),
      },
    })
  })

  test('is refused with SF403 where it has not been migrated, and the doctor says so', async () => {
    const bare = await testDatabase({ template: 'platform' })
    const refused = await starflow('coverage', '--json', '--database-url', bare.url)
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'SF403' } })
    const doctor = await starflow('doctor', '--json', '--database-url', bare.url)
    expect(doctor.exitCode).toBe(1)
    const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; status: string }[] }
    expect(findings).toMatchObject([
      { check: 'migrations', status: 'problem', hint: expect.stringContaining('db push') },
      { check: 'pgmq', status: 'problem' },
      { check: 'clock', status: 'ok' },
    ])
  })
})

test('a local platform that has yet to migrate its database is said to be still starting', async () => {
  const project = new SampleProject({ 'supabase/config.toml': '' })
  const postgres = join(project.root, '.starflow/dev/postgres')
  mkdirSync(dirname(postgres), { recursive: true })
  symlinkSync(dirname(inject('testServer').logFile), postgres)
  vi.spyOn(process, 'cwd').mockReturnValue(project.root)
  vi.stubEnv('DATABASE_URL', undefined)
  const { stdout } = await starflow('coverage', '--json').finally(() => {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
    project.dispose()
  })
  expect(JSON.parse(stdout)).toMatchObject({
    error: {
      code: 'SF403',
      message: expect.stringContaining('"starflow dev" is still starting'),
      hint: expect.any(String),
    },
  })
})

describe('starflow fence and restore', () => {
  test('disable and enable again all functions of a flow, as the fence found them', async () => {
    await register('orders__a')
    await core.trackWorkerFunction('orders__b-2')
    await sql`update pgflow.worker_functions set enabled = false where function_name = 'orders__b-2'`
    const fenced = await run('fence', '--flow', 'orders', '--by', 'ana')
    expect(fenced).toMatchObject({
      exitCode: 0,
      result: {
        functions: [
          { functionName: 'orders__a', enabled: false, enabledBeforeFence: true, fencedBy: 'ana' },
          { functionName: 'orders__b-2', enabled: false, enabledBeforeFence: false },
        ],
      },
    })
    expect(await enabled()).toEqual({ orders__a: false, 'orders__b-2': false })
    const again = await text('fence', '--flow', 'orders', '--by', 'ana')
    expect(again.stdout).toContain('Lift it with: npx starflow restore --flow orders\n')
    const restored = await text('restore', '--flow', 'orders')
    expect(restored.stdout).toContain('The fence of ana is lifted.')
    expect(restored.stdout).toContain('Enable them with: npx starflow restore --flow orders --enable')
    expect(restored.stdout).toContain('Still disabled, as the fence found them: orders__b-2.')
    expect(await enabled()).toEqual({ orders__a: true, 'orders__b-2': false })
    await run('restore', 'orders__b-2', '--enable')
    expect(await enabled()).toEqual({ orders__a: true, 'orders__b-2': true })
  })

  test('a fence of somebody else is refused by name with exit code 1', async () => {
    await core.trackWorkerFunction('orders__a')
    await run('fence', 'orders__a', '--by', 'ben')
    expect(await run('fence', 'orders__a', '--by', 'ana')).toMatchObject({
      exitCode: 1,
      result: { error: { code: 'SF421', message: '"ana" cannot fence what "ben" has fenced.' } },
    })
  })

  test.each([
    ['no name', [], 2, 'SF610'],
    ['names and a flow', ['x', '--flow', 'orders'], 2, 'SF610'],
    ['an unknown function', ['nope'], 1, 'SF422'],
    ['an unknown flow', ['--flow', 'Orders'], 1, 'SF201'],
    ['a flow without functions', ['--flow', 'orders'], 1, 'SF422'],
  ])('refuse %s', async (_what, args, exitCode, code) => {
    expect(await run('fence', ...args)).toMatchObject({
      exitCode,
      result: { error: { code, hint: expect.any(String) } },
    })
  })
})

describe('starflow coverage', () => {
  test('ends with exit code 1 exactly when a queue with work has no worker that claims', async () => {
    expect(await run('coverage')).toMatchObject({ exitCode: 0, result: { uncovered: [] } })
    expect((await run('coverage', '--strict')).exitCode).toBe(1)
    await core.startFlows('orders', [1])
    expect(await run('coverage')).toMatchObject({
      exitCode: 1,
      result: {
        routes: [
          { flowSlug: 'orders', stepSlug: 'a', queueName: 'orders__a', depth: 1, liveWorkers: 0, functions: [] },
          { stepSlug: 'b', depth: 0 },
        ],
        uncovered: [{ flowSlug: 'orders', stepSlug: 'a', queueName: 'orders__a' }],
      },
    })
    await register('orders__a')
    expect((await run('coverage')).exitCode).toBe(0)
    await run('fence', 'orders__a', '--by', 'ana')
    const fenced = await text('coverage')
    expect(fenced.exitCode).toBe(1)
    expect(fenced.stdout).toContain('fenced by ana')
    expect(fenced.stdout).toContain(
      '1 of 2 routes has no worker that claims. Work waits on 1, safely, until one comes.',
    )
  })

  test('says that work waits only where it does', async () => {
    const { stdout } = await text('coverage', '--strict')
    expect(stdout).toContain('2 of 2 routes have no worker that claims.\n')
    expect(stdout).not.toContain('Work waits')
  })

  test('waits for workers as long as it is told to', async () => {
    await register('orders__b')
    const covered = run('coverage', '--strict', '--flow', 'orders', '--wait-timeout', '30')
    await register('orders__a')
    expect(await covered).toMatchObject({ exitCode: 0, result: { uncovered: [] } })
  })

  test('names a queue that is gone', async () => {
    await sql`select pgmq.drop_queue('orders__b')`
    expect(await run('coverage', '--flow', 'orders')).toMatchObject({
      exitCode: 1,
      result: { uncovered: [{ stepSlug: 'b' }] },
    })
    const { stdout } = await text('coverage', '--flow', 'orders')
    expect(stdout).toContain('comes back with: npx starflow repair')
    expect(stdout).not.toContain('Work waits')
  })
})

describe('starflow workers, functions list and queues list', () => {
  test('show what the database knows', async () => {
    const live = await register('orders__a')
    const finishing = await register('orders__b')
    await core.deprecateWorker(finishing)
    await core.markWorkerStopped(await register('orders__b'))
    await core.startFlows('orders', [1, 2])
    const workers = (await run('workers')).result.workers as { workerId: string; state: string }[]
    expect(Object.fromEntries(workers.map((each) => [each.workerId, each.state]))).toEqual({
      [live]: 'live',
      [finishing]: 'finishing',
    })
    expect((await run('workers', '--all')).result.workers).toHaveLength(3)
    expect((await run('functions', 'list')).result.functions).toMatchObject([
      { functionName: 'orders__a', startMode: 'http', enabled: true, queues: ['orders__a'], liveWorkers: 1 },
      { functionName: 'orders__b', liveWorkers: 0 },
    ])
    expect((await run('queues', 'list')).result.queues).toMatchObject([
      { queueName: 'orders__a', steps: ['orders.a'], depth: 2, liveWorkers: 1 },
      { queueName: 'orders__b', steps: ['orders.b'], depth: 0, liveWorkers: 0 },
    ])
    expect((await text('functions', 'list')).stdout).toMatch(/orders__a +http +enabled/)
  })

  test('show the CPU per task, and null where nobody has measured it', async () => {
    const [workerId, executionId] = [randomUUID(), randomUUID()]
    await core.registerWorker({ workerId, queueName: 'orders__a', functionName: 'orders__a', executionId })
    await core.reportUsage(workerId, { tasks: 1600, cpuMs: null })
    const unmeasured = { measuredWorkers: 0, cpuMsPerTask: null }
    expect((await run('functions', 'list')).result.functions).toMatchObject([unmeasured])
    await core.reportCpu({ [executionId]: 500 })
    const figures = { cpuMsPerTask: 0.3125 }
    expect((await run('workers')).result).toMatchObject({
      workers: [{ workerId, executionId, tasks: 1600, workersInExecution: 1, cpuMs: 500, ...figures }],
      functions: [{ functionName: 'orders__a', measuredWorkers: 1, ...figures }],
    })
    expect((await run('functions', 'list')).result.functions).toMatchObject([{ measuredWorkers: 1, ...figures }])
    expect((await text('workers')).stdout).toMatch(/CPU\/task\n.* 1,600 +0\.31 ms\n/)
    expect((await text('functions', 'list')).stdout).toMatch(/orders__a +http +enabled.* 0\.31 ms/)
  })
})

test('starflow queues list knows no queue of a wait, which has none', async () => {
  const flow = withStepQueues(
    new Flow<number>({ slug: 'approvals' })
      .step({ slug: 'ask' }, (n) => n)
      .wait({ slug: 'approve', dependsOn: ['ask'] })
      .step({ slug: 'pay', dependsOn: ['approve'] }, () => 1),
  )
  await core.ensureFlowCompiled({
    ...{ flowSlug: 'approvals', shape: extractFlowShape(flow.flow), queueMode: 'step', routeMap: flow.routes },
  })
  const { result } = await run('queues', 'list')
  const queues = (result.queues as { queueName: string; depth: number | null }[]).filter(({ queueName }) =>
    queueName.startsWith('approvals'),
  )
  expect(queues).toMatchObject([
    { queueName: 'approvals__ask', steps: ['approvals.ask'], depth: 0 },
    { queueName: 'approvals__pay', steps: ['approvals.pay'], depth: 0 },
  ])
})

describe('starflow queues unsupported', () => {
  test('lists messages that no task knows without their bodies, and archives them only when told to', async () => {
    await core.startFlows('orders', [1])
    await sql`select pgmq.send('orders__a', '{"secret": "hunter2"}')`
    const listed = await run('queues', 'unsupported')
    expect(listed).toMatchObject({
      exitCode: 0,
      result: { messages: [{ queueName: 'orders__a', messageId: '2' }], archived: 0 },
    })
    expect(JSON.stringify(listed)).not.toContain('hunter2')
    expect((await text('queues', 'unsupported', '--archive', '--dry-run')).stdout).toContain('Nothing was changed.')
    expect((await run('queues', 'unsupported', '--archive', '--queue', 'orders__b')).result.archived).toBe(0)
    expect((await run('queues', 'unsupported', '--queue', 'Orders__A')).result.messages).toHaveLength(1)
    expect(await run('queues', 'unsupported', '--queue', 'orders_a')).toMatchObject({
      exitCode: 2,
      result: { error: { code: 'SF610', detail: 'They have: orders__a, orders__b.' } },
    })
    expect((await run('queues', 'unsupported', '--archive')).result.archived).toBe(1)
    expect((await run('queues', 'unsupported')).result.messages).toEqual([])
    expect(await sql`select msg_id from pgmq.q_orders__a`).toEqual([{ msg_id: '1' }])
    expect(await sql`select msg_id from pgmq.a_orders__a`).toEqual([{ msg_id: '2' }])
  })

  test('lists the message of a task that lies in the queue of another step, and so do doctor, overview and queues list; repair mends it', async () => {
    const [runId] = await core.startFlows('orders', [1])
    await sql`
      with moved as (select pgmq.send('orders__b', '{}') as id)
      update pgflow.step_tasks set queue_name = 'orders__b', message_id = moved.id from moved where run_id = ${runId!} and step_slug = 'a'`
    const task = { flowSlug: 'orders', stepSlug: 'a', runId }
    const reason = 'queued in queue orders__b, but its step is served from queue orders__a'
    const { result } = await run('queues', 'unsupported', '--archive')
    expect(result.messages).toContainEqual(expect.objectContaining({ queueName: 'orders__b', task }))
    expect(await sql.unsafe(`select from pgmq.q_orders__b`)).toHaveLength(1)
    expect((await text('queues', 'unsupported')).stdout).toContain('npx starflow repair')
    expect((await text('doctor')).stdout).toContain(reason)
    expect((await text('overview')).stdout).toContain(reason)
    expect((await run('queues', 'list')).result.queues).toContainEqual(
      expect.objectContaining({ queueName: 'orders__b', unsupported: 1 }),
    )
    expect((await run('repair')).exitCode).toBe(0)
    expect(await sql`select * from pgflow.unsupported_messages where run_id is not null`).toEqual([])
    expect(await sql`select * from pgflow.liveness_audit`).toEqual([])
    expect(await sql`select queue_name from pgflow.step_tasks where run_id = ${runId!}`).toEqual([
      { queue_name: 'orders__a' },
    ])
  })
})

describe('starflow queues redrive', () => {
  test('lists dead letters with their errors and without their bodies, and sends them again, all or some', async () => {
    await sql`select pgmq.create('mails')`
    const bury = (id: number) => sql`
      insert into pgflow.dead_letters (queue_name, message_id, message, read_count, enqueued_at, error_name, error_message)
      values ('mails', ${id}, '{"to": "hunter2"}', 3, now(), 'TypeError', ${'no address\nand more'})`
    for (const id of [1, 2, 3]) await bury(id)
    const listed = await run('queues', 'redrive', 'mails', '--dry-run')
    expect(listed).toMatchObject({
      exitCode: 0,
      result: { redriven: 0, messages: [{ messageId: '1', readCount: 3, error: 'TypeError: no address' }, {}, {}] },
    })
    expect(JSON.stringify(listed)).not.toContain('hunter2')
    expect((await run('doctor')).result.findings).toContainEqual(
      expect.objectContaining({ check: 'dead letters', status: 'warning', message: '3 of mails' }),
    )
    expect((await run('queues', 'redrive', 'mails', '--message', '2')).result).toMatchObject({ redriven: 1 })
    expect((await text('queues', 'redrive', 'mails')).stdout).toContain('2 sent again.')
    expect((await run('queues', 'redrive', 'mails')).result).toMatchObject({ redriven: 0, messages: [] })
    expect(await sql`select message from pgmq.q_mails`).toHaveLength(3)
  })

  test.each([
    ['a queue that is not there', ['nope'], 1, 'SF410'],
    ['the queue of a flow', ['orders__a'], 1, 'SF411'],
    ['an id that is none', ['nope', '--message', 'x'], 2, 'SF610'],
    ['no queue', [], 2, 'SF610'],
  ])('refuses %s', async (_what, args, exitCode, code) => {
    expect(await run('queues', 'redrive', ...args)).toMatchObject({ exitCode, result: { error: { code } } })
  })

  test('says of the queue of a flow how its failed runs are tried again', async () => {
    expect((await run('queues', 'redrive', 'orders__a')).result.error).toMatchObject({
      message: 'Queue "orders__a" belongs to flow "orders" and has no dead letters.',
      hint: expect.stringContaining('pgflow.retry_run'),
    })
  })
})

describe('starflow drain-status', () => {
  test('shows open runs and live workers of each version', async () => {
    await compile('ordersV2')
    await core.startFlows('orders', [1, 2])
    await register('ordersv2__a')
    expect((await run('drain-status')).result.versions).toMatchObject([
      { flowSlug: 'orders', openRuns: 2, liveWorkers: 0 },
      { flowSlug: 'ordersV2', openRuns: 0, liveWorkers: 1 },
    ])
    expect((await text('drain-status', '--flow', 'ordersV2')).stdout).toContain('drained')
  })
})

describe('starflow rollout --to', () => {
  beforeEach(() => compile('ordersV2'))

  test('stops, naming them, while a route of the new version has no live worker', async () => {
    await register('ordersv2__a')
    expect(await run('rollout', '--to', 'ordersV2', '--from', 'orders')).toMatchObject({
      exitCode: 1,
      result: { error: { code: 'SF636', fields: { steps: ['b'] } } },
    })
    await register('ordersv2__b')
    expect(await run('rollout', '--to', 'ordersV2', '--from', 'orders')).toMatchObject({
      exitCode: 0,
      result: { to: 'ordersV2', from: { flowSlug: 'orders', openRuns: 0 }, retired: [] },
    })
  })

  test('waits for workers as long as it is told to', async () => {
    const waiting = run('rollout', '--to', 'ordersV2', '--wait-timeout', '20')
    await register('ordersv2__a')
    await register('ordersv2__b')
    expect((await waiting).exitCode).toBe(0)
  })

  test('retires the old version only when none of its runs is open, and not a function that serves both', async () => {
    for (const name of ['ordersv2__a', 'ordersv2__b', 'orders__a']) await register(name)
    await register('both', 'orders__b')
    await register('both', 'ordersv2__b')
    const [runId] = await core.startFlows('orders', [1])
    const retire = (...more: string[]) => run('rollout', '--to', 'ordersV2', '--from', 'orders', '--retire', ...more)
    expect(await retire()).toMatchObject({
      exitCode: 1,
      result: { error: { code: 'SF636', message: expect.stringContaining('1 open run:') } },
    })
    expect((await enabled()).orders__a).toBe(true)
    await sql`select pgflow.cancel_run(${runId!})`
    expect((await retire('--dry-run')).result).toMatchObject({ retired: ['orders__a'], isDryRun: true })
    expect((await enabled()).orders__a).toBe(true)
    expect((await retire()).result).toMatchObject({ retired: ['orders__a'] })
    expect(await enabled()).toMatchObject({ orders__a: false, both: true })
    expect((await text('functions', 'list')).stdout).toContain('fenced by retirement of orders ')
  })

  test.each([
    ['neither --flow nor --to', []],
    ['both', ['--flow', 'orders', '--to', 'ordersV2']],
    ['--retire without --from', ['--to', 'ordersV2', '--retire']],
    ['a bad number', ['--flow', 'orders', '--drain-timeout', 'soon']],
  ])('refuses %s with exit code 2', async (_what, args) => {
    expect(await run('rollout', ...args)).toMatchObject({ exitCode: 2, result: { error: { code: 'SF610' } } })
  })
})

describe('starflow doctor', () => {
  const findings = async (...args: string[]) => {
    // Flow modules are evaluated where no number is given.
    const { exitCode, result } = await run('doctor', ...(args.length === 0 ? ['--connections', '4'] : args))
    const all = result.findings as { check: string; status: string; message: string; hint?: string }[]
    return { exitCode, of: (check: string) => all.filter((each) => each.check === check), all }
  }

  test('finds what is missing for pings and the jobs that keep workers alive', async () => {
    await register('orders__a')
    const { exitCode, of } = await findings()
    expect(exitCode).toBe(1)
    expect(of('migrations')).toMatchObject([{ status: 'ok' }])
    expect(of('pgmq')).toMatchObject([{ status: 'ok', message: 'pgmq 1.5.1.' }])
    expect(of('credentials')).toMatchObject([
      { status: 'problem', hint: expect.stringContaining('vault.create_secret') },
    ])
    expect(of('cron jobs')).toMatchObject([
      { status: 'problem', hint: expect.stringContaining('select pgflow.setup_ensure_workers_cron()') },
      { status: 'problem', hint: expect.stringContaining('select pgflow.setup_requeue_stalled_tasks_cron()') },
      { status: 'warning', hint: expect.stringContaining('select starflow.setup_queue_samples_cron()') },
    ])
    expect(of('clock')).toMatchObject([{ status: 'ok' }])
    expect(of('liveness')).toMatchObject([{ status: 'ok' }])
  })

  test('finds a flow with a wait that nobody can sign tokens for, and says nothing of waits where there is none', async () => {
    expect((await findings()).of('waits')).toEqual([])
    await sql`select pgflow.create_flow('approvals')`
    await sql`select pgflow.add_step('approvals', 'approve', step_type => 'wait')`
    expect((await findings()).of('waits')).toMatchObject([
      { status: 'problem', hint: expect.stringContaining('starflow_wait_token_secret') },
    ])
    await sql`select vault.create_secret(repeat('x', 32), 'starflow_wait_token_secret')`
    await core.startFlows('approvals', [1])
    expect((await findings()).of('waits')).toMatchObject([
      { status: 'ok', message: 'Tokens can be signed. Open waits: 1.' },
    ])
  })

  test('finds a function of the project that makes calls of ours ambiguous', async () => {
    expect((await findings()).of('functions')).toMatchObject([{ status: 'ok' }])
    await sql`create function pgflow.prune_data_older_than(retention_interval interval) returns void language sql as ''`
    try {
      expect((await findings()).of('functions')).toMatchObject([
        { status: 'problem', message: expect.stringContaining('pgflow.prune_data_older_than(interval)') },
      ])
    } finally {
      await sql`drop function pgflow.prune_data_older_than(interval)`
    }
  })

  test('states the connection budget and warns where it does not fit', async () => {
    await register('orders__a')
    await register('group', 'orders__a')
    await register('group', 'orders__b')
    expect((await findings()).of('connections')).toMatchObject([
      {
        status: 'ok',
        message: expect.stringMatching(
          /^3 workers of 2 enabled functions: 9 connections × 2 = 18 of 200 .* As --connections says\.$/,
        ),
      },
    ])
    expect((await findings('--connections', '60')).of('connections')).toMatchObject([{ status: 'warning' }])
  })

  test('finds uncovered work, failing starts, halted and long fenced functions, foreign messages and stuck runs', async () => {
    await core.startFlows('orders', [1])
    await sql`select pgmq.send('orders__b', '{}')`
    for (const name of ['fails', 'halted', 'forgotten', 'unknown']) await core.trackWorkerFunction(name)
    await core.reportStartFailure('fails', 'FlowShapeMismatchError: no')
    await core.reportStartFailure('unknown', 'The ping was answered with status 404: Function not found')
    await sql`update pgflow.worker_functions set enabled = false, disabled_reason = 'halt' where function_name = 'halted'`
    await sql`select * from pgflow.fence_worker_functions('{forgotten}', 'ben')`
    await sql`update pgflow.worker_functions set fenced_at = now() - interval '3 hours' where function_name = 'forgotten'`
    const [stuck] = await core.startFlows('orders', [2])
    await sql`update pgflow.step_states set status = 'completed', remaining_tasks = 0 where run_id = ${stuck!}`
    const { of } = await findings()
    expect(of('coverage').map((each) => each.message)).toEqual(
      expect.arrayContaining([expect.stringContaining('orders.a: 2 messages in orders__a, no worker')]),
    )
    const functions = of('worker functions')
      .map((each) => `${each.message} ${each.hint ?? ''}`)
      .join('\n')
    expect(functions).toContain('fails failed to start once: FlowShapeMismatchError: no')
    expect(functions).toContain(
      'status 404: Function not found It is not deployed under this name: npx starflow deploy.',
    )
    expect(functions).toContain('To try again at once: npx starflow restore unknown --enable')
    expect(functions).toContain('halted is disabled: halt')
    expect(functions).toContain('forgotten has been fenced by "ben" for 3 h')
    expect(of('unsupported messages')).toMatchObject([{ status: 'warning', message: '1 in orders__b' }])
    expect(of('liveness').some((each) => each.status === 'problem')).toBe(true)
  })
})
