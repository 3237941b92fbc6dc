import { createServer } from 'node:http'
import { Flow, type RunnerContext } from '@starflow/dsl'
import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { mirrorAlerts } from '../src/mirror/mirror-alerts.ts'
import { testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

/** Says how far it is, and goes on when it is told to. */
const holds = new Map<string, () => void>()
const slow = new Flow<{ name: string }, RunnerContext>({ slug: 'slowV1' }).step(
  { slug: 'work' },
  async ({ name }, ctx) => {
    await ctx.phase('halfway')
    await ctx.progress({ percent: 50 })
    await new Promise<void>((resolve) => holds.set(name, resolve))
    return name
  },
)

const storage = await testStorage('supabase')
const mirrored = { STARFLOW_MIRROR: 'on' }
// Two processes on one database: either one's runs are seen through the other.
const [runner, edge] = [
  await testServer(storage, mirrored, { flows: [slow] }),
  await testServer(storage, { ...mirrored, STARFLOW_ROLE: 'edge' }, { flows: [slow] }),
]

/** Nothing that a test leaves behind may hold up the end of its server. */
afterAll(() => {
  for (const release of holds.values()) release()
})

test('peers of the workspace are seen through any process, as of an instant, with what they are doing; so is one run', async () => {
  const [acme, other] = [await edge.workspace('acme'), await edge.workspace('other')]
  const started = await acme.post('/api/runs', { flow: 'slowV1', input: { name: 'a' } })
  const peers = await until(
    () => acme.get('/api/peers'),
    // Phases come through the outbox and progress past it, so either may be first.
    ({
      body: {
        peers: [peer],
      },
    }) => peer?.phase === 'halfway' && Boolean(peer.active[0]?.progress),
  )
  expect(peers.body.peers).toMatchObject([
    {
      ...{ runId: started.body.runId, flow: 'slowV1', workspace: 'acme', status: 'running', phase: 'halfway' },
      ...{ runner: runner.identity.runnerId, active: [{ node: 'work', attempt: 1, progress: { percent: 50 } }] },
    },
  ])
  expect(Math.abs(Date.now() - Date.parse(peers.body.asOf))).toBeLessThan(60_000)
  expect((await other.get('/api/peers')).body.peers).toEqual([])
  const live = `/api/runs/${started.body.runId}/live`
  expect((await acme.get(live)).body).toMatchObject({
    asOf: expect.any(String),
    run: { status: 'running', phase: 'halfway', active: [{ node: 'work', progress: { percent: 50 } }] },
  })
  expect(await other.get(live)).toMatchObject({ status: 404, body: { error: { code: 'SF802' } } })
  holds.get('a')!()
  await until(
    () => acme.get('/api/peers'),
    ({ body }) => body.peers.length === 0,
  )
  expect((await acme.get(`/api/runs/${started.body.runId}`)).body).toMatchObject({ status: 'success' })
})

test('the lag is shown to the operator by age', async () => {
  const { body } = await edge.operator.get('/api/mirror')
  expect(body.unapplied.map(({ ageBucket }: { ageBucket: string }) => ageBucket)).toEqual([
    'under_2s',
    '2s_to_30s',
    'over_30s',
  ])
})

test('a server that does not mirror says so, and knows nothing of any run', async () => {
  const plain = await testServer(storage, { STARFLOW_ROLE: 'edge' }, { flows: [slow] })
  const caller = await plain.workspace('acme')
  expect(await caller.get('/api/peers')).toMatchObject({ status: 503, body: { error: { code: 'SF941' } } })
  const started = await caller.post('/api/runs', { flow: 'slowV1', input: { name: 'unseen' }, placement: 'runner' })
  const live = await caller.get(`/api/runs/${started.body.runId}/live`)
  expect(live).toMatchObject({ status: 200, body: { asOf: null, run: null } })
})

test.each([
  ['SQLite', { STARFLOW_SQLITE_PATH: 'runs.db' }, 'does not go with SQLite'],
  ['no direct connection', { SUPABASE_URL: 'http://x', SUPABASE_SERVICE_ROLE_KEY: 'k' }, 'needs SUPABASE_DB_URL'],
])('a mirror with %s is refused at boot', (_name, env, reason) => {
  const whole = { STARFLOW_API_TOKEN: 'a token that is long enough', ...mirrored, ...env }
  expect(() => readConfig(whole)).toThrow(
    expect.objectContaining({ code: 'SF901', detail: expect.stringContaining(reason) }),
  )
})

test('a new level of the lag is a line of the log and a request to whoever wants to be called', async () => {
  const told: unknown[] = []
  const pager = createServer((request, response) => {
    let text = ''
    request.on('data', (data: Buffer) => {
      text += data
    })
    request.on('end', () => {
      told.push(JSON.parse(text))
      response.end()
    })
  })
  await new Promise<void>((resolve) => pager.listen(0, '127.0.0.1', resolve))
  afterAll(() => void pager.close())
  const lines: unknown[] = []
  const line = (fields: object, message: string) => void lines.push({ ...fields, message })
  const log = { debug: line, info: line, warn: line, error: line }
  const { port } = pager.address() as { port: number }
  const lag = { fresh: 0, late: 0, overdue: 3, oldestMs: 31_000, asOf: '2026-11-29T12:00:00.000Z' }
  mirrorAlerts(log, `http://127.0.0.1:${port}/`)({ level: 'error', event: 'mirror.lag', lagLevel: 'page', ...lag })
  await until(
    async () => told,
    (requests) => requests.length === 1,
  )
  expect(told).toEqual([{ level: 'error', event: 'mirror.lag', lagLevel: 'page', ...lag }])
  expect(lines).toEqual([{ lagLevel: 'page', ...lag, message: 'mirror.lag' }])
})
