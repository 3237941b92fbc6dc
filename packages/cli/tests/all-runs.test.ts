import { LocalWorkflowStateAdapter } from '@starflow/engine/adapters/local'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'
import { SampleProject } from './support/sample-project.ts'

/** Runs of runners in a file, those on step queues in a database: as on a laptop on which `starflow dev` runs. */
const { sql, url } = await testDatabase()
const project = new SampleProject({
  'flows.ts': `
    import { Flow } from '@starflow/dsl'
    export const orders = new Flow<{ n: number }>({ slug: 'orders' }).step({ slug: 'pack' }, () => 1)`,
})
const home = process.cwd()
const laptop = { of: await LocalWorkflowStateAdapter.open({ path: `${project.root}/.starflow/runs.db` }) }

beforeAll(async () => {
  process.chdir(project.root)
  await sql`select vault.create_secret(repeat('x', 32), 'starflow_wait_token_secret')`
  for (const [flow, step, type] of [
    ['orders', 'pack', 'single'],
    ['approvals', 'approve', 'wait'],
  ] as const) {
    await sql`select pgflow.create_flow(${flow})`
    await sql`select pgflow.add_step(${flow}, ${step}, step_type => ${type})`
  }
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await laptop.of.close()
  process.chdir(home)
  project.dispose()
})

async function look(...args: string[]) {
  const { exitCode, stdout, stderr } = await starflow(...args, '--json', '--database-url', url)
  return { exitCode, stderr, ...JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') }
}

async function startOnQueues(flow: string): Promise<string> {
  const [run] = await sql<{ runId: string }[]>`select run_id as "runId" from pgflow.start_flow(${flow}, '{"n": 1}')`
  return run!.runId
}

async function startOnRunner(): Promise<string> {
  const { runId } = await laptop.of.enqueueRun({
    ...{ runId: crypto.randomUUID(), templateId: 'reports', workspaceId: 'acme', env: 'prod', input: 1 },
    ...{ definitionId: null, runnerPool: undefined, idempotencyKey: undefined, delayMs: 0 },
  })
  return runId
}

describe('starflow runs', () => {
  test('lists those on step queues and those on runners, each once over its pages, and one placement alone', async () => {
    const wanted = new Map<string, string>()
    for (let index = 0; index < 2; index++) {
      wanted.set(await startOnQueues('orders'), 'queue')
      wanted.set(await startOnRunner(), 'runner')
    }
    const listed: [string, string][] = []
    for (let before: string[] = []; ; ) {
      const { runs, next } = await look('runs', 'list', '--limit', '3', ...before)
      listed.push(...runs.map(({ runId, placement }: Record<string, string>) => [runId, placement]))
      if (next === null) break
      before = ['--before', next]
    }
    expect(listed).toHaveLength(wanted.size)
    expect(new Map(listed)).toEqual(wanted)
    const { runs } = await look('runs', 'list', '--placement', 'queue', '--search', 'ORD')
    expect(runs).toHaveLength(2)
    expect(runs[0]).toEqual({
      ...{ runId: expect.any(String), flow: 'orders', placement: 'queue', workspaceId: null, env: null, pool: null },
      ...{
        status: 'running',
        claimState: null,
        createdAt: expect.any(String),
        startedAt: expect.any(String),
        completedAt: null,
        endedAt: null,
        durationMs: null,
      },
      ...{ runner: null, error: null },
    })
  })

  test('shows, cancels and retries one on step queues', async () => {
    const runId = await startOnQueues('orders')
    expect(await look('runs', 'cancel', runId, '--reason', 'asked for twice')).toMatchObject({
      ...{ runId, placement: 'queue', status: 'cancelled' },
    })
    expect(await look('runs', 'show', runId)).toMatchObject({
      run: { flow: 'orders', placement: 'queue', input: { n: 1 }, output: null, cancelReason: 'asked for twice' },
      steps: [{ step: 'pack', state: 'stopped', reason: null }],
      waits: [],
    })
    expect(await look('runs', 'cancel', runId)).toMatchObject({ exitCode: 1, error: { code: 'SF642' } })
    expect(await look('runs', 'retry', runId)).toMatchObject({ placement: 'queue', status: 'running' })
    const { stdout } = await starflow('runs', 'show', runId, '--database-url', url)
    expect(stdout).toContain(`Run ${runId} of orders, on step queues: running`)
  })

  test('shows every figure of a step, and its tasks page by page', async () => {
    await sql`select pgflow.create_flow('letters')`
    await sql`select pgflow.add_step('letters', 'post', step_type => 'map', max_attempts => 7)`
    const [run] = await sql`select run_id as "runId" from pgflow.start_flow('letters', '[1, 2, 3]')`
    const { runId } = run as { runId: string }
    expect((await look('runs', 'show', runId)).steps).toEqual([
      expect.objectContaining({
        ...{ step: 'post', state: 'running', completedElements: 0, elements: 3, type: 'map', status: 'started' },
        ...{ queue: 'letters', attempts: 0, maxAttempts: 7, readyAt: expect.any(String), startedAt: null, spans: [] },
        tasks: { total: 3, queued: 3, started: 0, completed: 0, failed: 0 },
      }),
    ])
    const first = await look('runs', 'tasks', runId, 'post', '--limit', '2')
    expect(first).toMatchObject({ tasks: [{ task: 0, status: 'queued', attempts: [] }, { task: 1 }], next: 1 })
    const second = await look('runs', 'tasks', runId, 'post', '--limit', '2', '--after', '1')
    expect(second).toMatchObject({ tasks: [{ task: 2 }], next: null })
    expect(await look('runs', 'tasks', runId, 'post', '--status', 'failed')).toMatchObject({ tasks: [], next: null })
    expect(await look('runs', 'tasks', runId, 'nothing')).toMatchObject({ exitCode: 1, error: { code: 'SF107' } })
    const { stdout } = await starflow('runs', 'tasks', runId, 'post', '--limit', '1', '--database-url', url)
    expect(stdout).toMatch(/^0 +queued +0$/m)
  })

  test('lists those of a time and an environment, and refuses a time or a name that is none', async () => {
    const flow = ['--flow', 'reports']
    const runId = await startOnRunner()
    const [{ createdAt }] = (await look('runs', 'list', '--search', runId)).runs
    const ids = async (...args: string[]) =>
      (await look('runs', 'list', ...flow, ...args)).runs.map((run: { runId: string }) => run.runId)
    expect(await ids('--from', createdAt, '--env', 'prod')).toEqual([runId])
    expect(await ids('--to', createdAt)).not.toContain(runId)
    expect(await ids('--env', 'test')).toEqual([])
    for (const wrong of [
      ['--from', 'yesterday'],
      ['--to', '1'],
      ['--env', 'a b'],
      ['--workspace', '*'],
    ]) {
      expect(await look('runs', 'list', ...wrong)).toMatchObject({ exitCode: 2, error: { code: 'SF610' } })
    }
  })

  test('looks in both placements for a run, and says where it looked', async () => {
    const { error } = await look('runs', 'show', crypto.randomUUID())
    expect(error).toMatchObject({ code: 'SF802', detail: 'Looked in .starflow/runs.db and on step queues.' })
  })

  test('shows those of the file where nobody has named a database, and says why others are missing', async () => {
    const alone = await starflow('runs', 'list', '--json')
    expect([alone.exitCode, alone.stderr]).toEqual([0, ''])
    const placements = JSON.parse(alone.stdout).runs.map((run: { placement: string }) => run.placement)
    expect(new Set(placements)).toEqual(new Set(['runner']))
    vi.stubEnv('DATABASE_URL', 'postgresql://nobody@127.0.0.1:1/nothing')
    const { exitCode, stdout, stderr } = await starflow('runs', 'list', '--json')
    vi.unstubAllEnvs()
    expect([exitCode, stdout]).toEqual([0, alone.stdout])
    expect(stderr).toMatch(/^Runs on step queues are not shown: The database .* cannot be reached\.\n$/)
  })
})

describe('a start on step queues', () => {
  const start = (...args: string[]) => look('start', 'flows.ts', '--placement', 'queue', '--input', '{"n": 1}', ...args)

  test('begins after its delay, and belongs to the workspace that was named', async () => {
    const later = await start('--delay', '3600')
    const mine = await start('--workspace', 'shop', '--delay', '3600', '--idempotency-key', 'k')
    expect(await start('--workspace', 'shop', '--idempotency-key', 'k')).toMatchObject({
      ...{ runId: mine.runId, created: false },
    })
    for (const { runId } of [later, mine]) {
      const [{ readyAt, dueAt }] = (await look('runs', 'show', runId)).steps
      expect(Date.parse(dueAt) - Date.parse(readyAt)).toBe(3_600_000)
    }
    const { runs } = await look('runs', 'list', '--workspace', 'shop')
    expect(runs).toMatchObject([{ runId: mine.runId, workspaceId: 'shop', env: 'prod' }])
  })

  test('that has failed at once is told as failed, with exit code 1, and so is one that was cancelled before', async () => {
    await sql`select pgflow.create_flow('refuses')`
    await sql`select pgflow.add_step('refuses', 'only', required_input_pattern => '{"go": true}', when_unmet => 'fail')`
    project.write(
      'refuses.ts',
      `import { Flow } from '@starflow/dsl'
       export const refuses = new Flow<{ n: number }>({ slug: 'refuses' }).step({ slug: 'only' }, () => 1)`,
    )
    const words = ['start', 'refuses.ts', '--placement', 'queue', '--input', '{"n": 1}', '--database-url', url]
    expect(await look(...words.slice(0, -2))).toMatchObject({ exitCode: 1, status: 'error' })
    const { exitCode, stderr } = await starflow(...words)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('The run has failed.')])

    const keyed = await start('--workspace', 'shop', '--delay', '3600', '--idempotency-key', 'cancelled')
    expect(keyed).toMatchObject({ exitCode: 0, status: 'queued' })
    await look('runs', 'cancel', keyed.runId)
    expect(await start('--workspace', 'shop', '--idempotency-key', 'cancelled')).toMatchObject({
      ...{ exitCode: 1, runId: keyed.runId, created: false, status: 'cancelled' },
    })
  })

  test('is refused with what it would have to ignore, and with names and delays that nobody takes', async () => {
    const before = (await look('runs', 'list', '--limit', '1000')).runs.length
    for (const wrong of [
      ['--pool', 'heavy'],
      ['--workspace', 'shop', '--id', crypto.randomUUID()],
      ['--workspace', 'a b'],
      ['--delay', '1e300'],
      ['--placement', 'runner'],
      ['--placement', 'runner', '--pool', '*'],
    ]) {
      expect(await start(...wrong)).toMatchObject({ exitCode: 2, error: { code: 'SF610' } })
    }
    expect((await look('runs', 'list', '--limit', '1000')).runs).toHaveLength(before)
  })
})

describe('a wait on step queues', () => {
  const openWait = async () => {
    const runId = await startOnQueues('approvals')
    return { runId, watch: look('runs', 'watch', runId) }
  }

  test('stands in the inbox with its flow, is approved, and whoever watches the run sees its end', async () => {
    const { runId, watch } = await openWait()
    const { waits } = await look('waits', 'list')
    expect(waits).toEqual([
      { runId, flow: 'approvals', placement: 'queue', step: 'approve', openedAt: expect.any(String), dueAt: null },
    ])
    expect(await look('runs', 'show', runId)).toMatchObject({ steps: [{ step: 'approve', state: 'waiting' }] })
    expect(await look('waits', 'approve', runId, '--payload', '{"by": "ana"}')).toMatchObject({
      ...{ placement: 'queue', step: 'approve', outcome: 'accepted' },
    })
    const output = { approve: { approved: true, by: 'ana' } }
    expect(await watch).toMatchObject({ exitCode: 0, placement: 'queue', status: 'success', output, waits: [] })
    expect(await look('waits', 'approve', runId)).toMatchObject({ exitCode: 1, error: { code: 'SF209' } })
    expect(await look('waits', 'approve', runId, 'approve')).toMatchObject({ exitCode: 1, error: { code: 'SF643' } })
  })

  test('is resumed with its token', async () => {
    const { runId, watch } = await openWait()
    const [{ token }] = (await sql`select pgflow.issue_wait_token(${runId}, 'approve') as token`) as unknown as [
      { token: string },
    ]
    expect(await look('waits', 'resume', token, '--payload', '7')).toMatchObject({ runId, outcome: 'accepted' })
    expect(await watch).toMatchObject({ status: 'success', output: { approve: 7 } })
    expect(await look('waits', 'resume', `${token}x`)).toMatchObject({ exitCode: 1, error: { code: 'SF207' } })
  })
})

test('the events of a run on step queues are told as those of a runner are', async () => {
  const runId = await startOnQueues('approvals')
  const watching = starflow('runs', 'watch', runId, '--events', '--json', '--database-url', url)
  await look('waits', 'reject', runId)
  const lines = (await watching).stdout.trim().split('\n')
  const events = lines.slice(0, -1).map((line) => JSON.parse(line).event)
  expect(events.map(({ type, nodeId }) => [type, nodeId])).toEqual([
    ['run_started', null],
    ['node_start', 'approve'],
    ['node_complete', 'approve'],
    ['run_completed', null],
  ])
  expect(events[2]).toMatchObject({ runId, payload: { output: { approved: false } } })
})

test('starflow runners tells the runners, what they hold, and what none of them serves', async () => {
  const runId = await startOnRunner()
  const { exitCode, stdout } = await starflow('runners', '--json')
  expect(exitCode).toBe(0)
  const { runners, leases, unserved } = JSON.parse(stdout)
  expect([runners, leases]).toEqual([[], []])
  expect(unserved.at(-1)).toEqual({
    ...{ runId, flow: 'reports', pool: null, queuedAt: expect.any(String), reason: 'no_runner', detail: null },
  })
  expect((await starflow('runners')).stdout).toContain('no runner lives')
})
