import { readFileSync } from 'node:fs'
import { Flow, withStepQueues } from '@starflow/dsl'
import { afterAll, describe, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { CompiledFlow, completed, failed } from '../../core/tests/support/compiled-flow.ts'
import { readConfig } from '../src/config.ts'
import { DatabaseMetrics } from '../src/metrics/database-metrics.ts'
import { DATABASE_METRICS, type MetricDefinition, PROCESS_METRICS } from '../src/metrics/metric-definitions.ts'
import { METRICS_CACHE_MS } from '../src/numbers.ts'
import { OPERATOR_TOKEN, testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

const METRICS_TOKEN = 'a token that reads metrics'
const METRICS: Readonly<Record<string, MetricDefinition>> = { ...DATABASE_METRICS, ...PROCESS_METRICS }

const storage = await testStorage('supabase')
const { sql } = storage.database!

const parcels = new Flow<{ id: string }>({ slug: 'parcelsV1' })
  .step({ slug: 'pack' }, ({ id }) => id)
  .step({ slug: 'ship', dependsOn: ['pack'] }, ({ pack }) => pack)
const greet = new Flow<{ name: string }>({ slug: 'greetV1', maxAttempts: 1 }).step({ slug: 'say' }, ({ name }) => {
  if (name === 'nobody') throw new Error('there is nobody')
  return name
})
const flow = await CompiledFlow.compile(sql, withStepQueues(parcels))
const [pack, ship] = [flow.queue('pack'), flow.queue('ship')]
// Live for as long as this file takes.
await sql`update pgflow.workers set queue_name = ${pack}, last_heartbeat_at = now() + interval '1 hour'`

const server = await testServer(storage, { STARFLOW_METRICS_TOKEN: METRICS_TOKEN }, { flows: [greet, parcels] })
const shop = await server.workspace('shop')

/** The samples of the text, by name with labels as it stands there. */
async function scrape(url = server.url, token = METRICS_TOKEN): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

/** Scrapes until the figures are these: what was read is good for a second, and Postgres tells its statistics late. */
async function scrapesTo(expected: Readonly<Record<string, number>>, url?: string): Promise<void> {
  const samples = await until(
    () => scrape(url),
    (figures) => Object.entries(expected).every(([name, value]) => figures.get(name) === value),
  ).catch(() => scrape(url))
  expect(Object.fromEntries(Object.keys(expected).map((name) => [name, samples.get(name)]))).toEqual(expected)
}

test('step queues tell depth, what is in flight, age, coverage, claims, settles, stale reports and requeues', async () => {
  await flow.start({ id: '1' }, { id: '2' }, { id: '3' }, { id: '4' }, { id: '5' })
  const [first, second, third] = await flow.claim('pack', 4)
  await flow.core.settleTasks(flow.workerId, [completed(first!, 'packed'), failed(second!, { permanent: true })])
  await flow.core.settleTasks(flow.workerId, [completed(first!, 'packed')])
  await flow.age(third!.runId, 3600)
  await flow.core.requeueStalledTasks()

  await scrapesTo({
    starflow_database_up: 1,
    [`starflow_queue_depth{queue="${pack}"}`]: 3,
    [`starflow_queue_in_flight{queue="${pack}"}`]: 1,
    [`starflow_queue_live_workers{queue="${pack}"}`]: 1,
    [`starflow_queue_uncovered{queue="${pack}"}`]: 0,
    [`starflow_queue_uncovered{queue="${ship}"}`]: 1,
    [`starflow_queue_depth{queue="${ship}"}`]: 1,
    [`starflow_queue_sent_total{queue="${pack}"}`]: 5,
    [`starflow_queue_archived_total{queue="${pack}"}`]: 2,
    starflow_task_claims_total: 4,
    'starflow_task_settles_total{outcome="completed"}': 1,
    'starflow_task_settles_total{outcome="failed"}': 1,
    starflow_stale_reports_total: 1,
    starflow_stalled_requeues_total: 1,
    'starflow_runs_started_total{placement="queue"}': 5,
    'starflow_runs_ended_total{placement="queue",status="error"}': 1,
    'starflow_runs_open{placement="queue",status="running"}': 4,
  })
  const samples = await scrape()
  expect(samples.get(`starflow_queue_oldest_age_seconds{queue="${pack}"}`)).toBeGreaterThan(0)
})

test('a queue that is gone has no depth, and is uncovered', async () => {
  await sql`select pgmq.drop_queue(${ship!})`
  await scrapesTo({ [`starflow_queue_uncovered{queue="${ship}"}`]: 1 })
  await until(scrape, (samples) => !samples.has(`starflow_queue_depth{queue="${ship}"}`))
})

test('runners tell their runs, claims and executions, what waits for a pool that nobody serves, and leases', async () => {
  const start = (name: string, pool?: string) =>
    shop.post('/api/runs', { flow: 'greetV1', input: { name }, ...(pool === undefined ? {} : { pool }) })
  await start('Ana')
  await start('nobody')
  await start('Ben', 'heavy')
  const { body } = await start('Eve', 'heavy')
  await shop.post(`/api/runs/${body.runId}/cancel`)
  await scrapesTo({
    'starflow_runs_started_total{placement="runner"}': 4,
    'starflow_runs_ended_total{placement="runner",status="success"}': 1,
    'starflow_runs_ended_total{placement="runner",status="error"}': 1,
    'starflow_runs_ended_total{placement="runner",status="cancelled"}': 1,
    'starflow_runs_open{placement="runner",status="queued"}': 1,
    starflow_run_claims_total: 2,
    'starflow_runner_queue_depth{pool="heavy"}': 1,
    'starflow_runner_queue_unserved{pool="heavy"}': 1,
    'starflow_live_runners{pool=""}': 1,
    starflow_leases_held: 0,
    starflow_leases_overdue: 0,
    starflow_leases_lost_total: 0,
    starflow_runner_active_runs: 0,
    starflow_runner_concurrency: 10,
    'starflow_runner_executions_total{end="success"}': 1,
    'starflow_runner_executions_total{end="error"}': 1,
    'starflow_runner_node_attempts_total{outcome="completed"}': 1,
    'starflow_runner_node_attempts_total{outcome="failed"}': 1,
    starflow_ready: 1,
    'starflow_http_request_duration_seconds_count{endpoint="startRun",status="201"}': 4,
  })
})

test('a mirrored database tells the lag of its warm tier by age, and jobs of external workers are counted by kind', async () => {
  const [run] = await sql<{ id: string }[]>`select id from starflow.workflow_runs limit 1`
  await sql`select starflow.set_mirroring(true)`
  await sql`insert into starflow.mirror_outbox (run_id, kind, payload, created_at)
            values (${run!.id}, 'run', '{}', now() - interval '10 seconds'), (${run!.id}, 'run', '{}', now() - interval '1 minute')`
  await sql`insert into starflow.worker_jobs (run_id, node_id, kind, idempotency_key) values (${run!.id}, 'say', 'speech', 'k')`
  await scrapesTo({
    'starflow_outbox_unapplied{age_bucket="under_2s"}': 0,
    'starflow_outbox_unapplied{age_bucket="2s_to_30s"}': 1,
    'starflow_outbox_unapplied{age_bucket="over_30s"}': 1,
    'starflow_worker_jobs{kind="speech",status="queued"}': 1,
  })
  expect((await scrape()).get('starflow_outbox_oldest_age_seconds')).toBeGreaterThan(30)
  await sql`select starflow.set_mirroring(false)`
})

test('SQL tells no figure that the page does not explain, and every name is one of Prometheus', async () => {
  const [row] = await sql<[{ names: string[] }]>`
    select array(select distinct s ->> 'metric' from jsonb_array_elements(starflow.metrics() -> 'samples') s) as names`
  expect(row.names.filter((name) => !(name in DATABASE_METRICS))).toEqual([])
  for (const [name, { type, labels }] of Object.entries(METRICS)) {
    expect(name).toMatch(/^starflow_[a-z_]+[a-z]$/)
    expect(name.endsWith('_total')).toBe(type === 'counter')
    expect(labels.every((label) => /^[a-z_]+$/.test(label))).toBe(true)
  }
})

test('the page explains every metric as the code has it, and no other', () => {
  const page = readFileSync(new URL('../../../docs/operations/metrics.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `starflow_'))
  expect(rows).toEqual(
    Object.entries(METRICS).map(([name, { type, labels, help }]) => {
      const shown = labels.map((label) => `\`${label}\``).join(', ')
      return `| \`${name}\` | ${type} | ${shown} | ${help} |`
    }),
  )
})

describe('access', () => {
  const ask = (path: string, token: string) => server.nobody.with({ authorization: `Bearer ${token}` }).get(path)

  test('is for the token of metrics and for the operator, and for nobody else', async () => {
    const { token } = await server.token('shop')
    expect((await server.nobody.get('/metrics')).body.error.code).toBe('SF903')
    expect((await ask('/metrics', token)).body.error.code).toBe('SF903')
    expect((await scrape(server.url, OPERATOR_TOKEN)).get('starflow_ready')).toBe(1)
  })

  test('with the token of metrics is to nothing else', async () => {
    for (const path of ['/api/runs', '/api/session', '/api/queues', '/api/mirror']) {
      expect((await ask(path, METRICS_TOKEN)).body.error.code).toBe('SF903')
    }
    expect((await server.nobody.post('/api/session', { token: METRICS_TOKEN })).body.error.code).toBe('SF903')
  })

  test('to a runner is with the token of metrics, and without one there are none', async () => {
    const role = { STARFLOW_ROLE: 'runner', STARFLOW_API_TOKEN: '' }
    const open = await testServer(storage, { ...role, STARFLOW_METRICS_TOKEN: METRICS_TOKEN }, { flows: [greet] })
    expect((await scrape(open.url)).get('starflow_runner_active_runs')).toBe(0)
    const closed = await testServer(storage, role, { flows: [greet] })
    expect((await closed.operator.get('/metrics')).body.error.code).toBe('SF908')
  })

  test('is refused at boot with the token of the operator as that of metrics', () => {
    const env = { STARFLOW_API_TOKEN: OPERATOR_TOKEN, STARFLOW_METRICS_TOKEN: OPERATOR_TOKEN }
    expect(() => readConfig({ ...storage.env, ...env })).toThrow(
      expect.objectContaining({
        code: 'SF901',
        detail: expect.stringContaining('STARFLOW_METRICS_TOKEN is STARFLOW_API_TOKEN'),
      }),
    )
  })
})

describe('a database that', async () => {
  const proxy = await flakyProxy(storage.env.SUPABASE_URL!)
  afterAll(() => proxy.close())
  const env = {
    SUPABASE_URL: proxy.url.replace(/\/$/, ''),
    STARFLOW_METRICS_TOKEN: METRICS_TOKEN,
    STARFLOW_ROLE: 'edge',
  }
  const far = await testServer(storage, env, { flows: [greet] })

  test('is away costs its own figures, not those of the process', async () => {
    expect((await scrape(far.url)).get('starflow_database_up')).toBe(1)
    proxy.cut()
    const samples = await until(
      () => scrape(far.url),
      (figures) => figures.get('starflow_database_up') === 0,
    )
    expect([...samples.keys()].filter((name) => name.startsWith('starflow_queue'))).toEqual([])
    expect(samples.get('starflow_ready')).toBe(1)
    proxy.restore()
    await scrapesTo({ starflow_database_up: 1 }, far.url)
  })

  test('does not answer holds up no scrape for long, and the next one asks again', async () => {
    const stopped = proxy.stopAt('/rpc/metrics', 'before')
    const samples = until(
      () => scrape(far.url),
      (figures) => figures.get('starflow_database_up') === 0,
    )
    await stopped
    expect((await samples).get('starflow_ready')).toBe(1)
    await scrapesTo({ starflow_database_up: 1 }, far.url)
  })
})

test('scrapes within a second share one look at the database', async () => {
  let [now, looks] = [0, 0]
  const read = async () => {
    looks++
    return []
  }
  const metrics = new DatabaseMetrics({ read }, () => now)
  await Promise.all([metrics.text(), metrics.text()])
  now = METRICS_CACHE_MS - 1
  await metrics.text()
  expect(looks).toBe(1)
  now = METRICS_CACHE_MS
  await metrics.text()
  expect(looks).toBe(2)
})

test('on SQLite the file counts its runs by itself', async () => {
  const local = await testServer(
    await testStorage('sqlite'),
    { STARFLOW_METRICS_TOKEN: METRICS_TOKEN },
    { flows: [greet] },
  )
  const caller = await local.workspace('shop')
  for (const name of ['Ana', 'nobody']) await caller.post('/api/runs', { flow: 'greetV1', input: { name } })
  await caller.post('/api/runs', { flow: 'greetV1', input: { name: 'Ben' }, pool: 'heavy' })
  await scrapesTo(
    {
      starflow_database_up: 1,
      'starflow_runs_started_total{placement="runner"}': 3,
      'starflow_runs_ended_total{placement="runner",status="success"}': 1,
      'starflow_runs_ended_total{placement="runner",status="error"}': 1,
      'starflow_runs_open{placement="runner",status="queued"}': 1,
      starflow_run_claims_total: 2,
      'starflow_runner_queue_unserved{pool="heavy"}': 1,
      'starflow_live_runners{pool=""}': 1,
      starflow_leases_held: 0,
    },
    local.url,
  )
})
