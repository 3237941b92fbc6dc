import { createServer } from 'node:net'
import { Flow, withStepQueues } from '@starflow/dsl'
import { afterAll, describe, expect, test } from 'vitest'
import { CompiledFlow } from '../../core/tests/support/compiled-flow.ts'
import { startServer } from '../src/index.ts'
import { flows } from './support/flows.ts'
import { OPERATOR_TOKEN, testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

const storage = await testStorage('supabase')
const compiled = new Flow<{ name: string }>({ slug: 'compiledV1' }).step({ slug: 'a' }, ({ name }) => name)
const flow = await CompiledFlow.compile(storage.database!.sql, withStepQueues(compiled))

test('a port that is taken is told with its address, and nothing is left open', async () => {
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  afterAll(() => void holder.close())
  const { port } = holder.address() as { port: number }
  await expect(
    testServer(storage, { STARFLOW_PORT: String(port), STARFLOW_RUNNER_POOL: 'nobody' }),
  ).rejects.toMatchObject({
    ...{ code: 'SF915', name: 'PortTakenError', fields: { host: '127.0.0.1', port } },
    detail: 'Another process listens there already.',
  })
  const { sql } = storage.database!
  await until(
    async () =>
      (
        await sql`select from pg_stat_activity where datname = current_database() and application_name = 'starflow.server.api'`
      ).length,
    (connections) => connections === 0,
  )
  // It has claimed nothing either: it listens first.
  expect(await sql`select from starflow.workflow_runners where runner_pool = 'nobody'`).toEqual([])
})

test('two ways that lead to two databases are refused with both ids', async () => {
  const other = await testStorage('supabase')
  // A clone has the id of what it was cloned from.
  await other.database!.sql`update starflow.database_identity set database_id = gen_random_uuid()`
  const ids = await Promise.all(
    [storage, other].map(async ({ database }) => {
      const [row] = await database!.sql<[{ id: string }]>`select starflow.database_id() as id`
      return row.id
    }),
  )
  await expect(testServer(storage, { SUPABASE_DB_URL: other.env.SUPABASE_DB_URL! })).rejects.toMatchObject({
    ...{ code: 'SF913', name: 'OtherDatabaseError' },
    detail: `The ids of the databases are ${ids[0]} and ${ids[1]}.`,
  })
})

test('an API of the database that does not answer is refused at boot', async () => {
  const away = { ...storage.env, SUPABASE_URL: 'http://127.0.0.1:1', STARFLOW_API_TOKEN: OPERATOR_TOKEN }
  await expect(startServer({ flows, env: away })).rejects.toMatchObject({ code: 'SF911' })
})

describe('without SUPABASE_DB_URL a server', async () => {
  const { SUPABASE_DB_URL: _, ...env } = storage.env
  const server = await testServer({ ...storage, env }, {}, { flows: [...flows, compiled] })
  const shop = await server.workspace('shop')

  test('executes runs on its runner, and takes a flow there that is compiled too', async () => {
    for (const slug of ['greetV1', 'compiledV1']) {
      const { status, body } = await shop.post('/api/runs', { flow: slug, input: { name: 'Ana' } })
      expect([status, body.placement]).toEqual([201, 'runner'])
      const run = await until(
        () => shop.get(`/api/runs/${body.runId}`),
        (answer) => answer.body.status === 'success',
      )
      expect(run.body.workspace).toBe('shop')
    }
  })

  test('says why a run cannot go to step queues, and shows no queues', async () => {
    const start = { flow: 'compiledV1', input: { name: 'Ana' }, placement: 'queue' }
    const { status, body } = await shop.post('/api/runs', start)
    expect([status, body.error.code]).toEqual([409, 'SF910'])
    expect(body.error.hint).toContain('SUPABASE_DB_URL')
    expect((await server.operator.get('/api/queues')).body).toEqual({ queues: [] })
    expect(await flow.start({ name: 'sql' })).toHaveLength(1)
    const every = server.operator.with({ 'starflow-workspace': '*' })
    const { runs } = (await every.get('/api/runs')).body
    expect(runs.every((run: { placement: string }) => run.placement === 'runner')).toBe(true)
  })

  test('is ready, serves worker jobs, and tells the figures of the queues that it cannot show', async () => {
    expect((await server.nobody.get('/readyz')).body).toEqual({ status: 'ready' })
    const claim = { workerId: 'w', kinds: ['speech'], waitSeconds: 0 }
    expect((await shop.post('/api/worker-jobs/claim', claim)).body).toEqual({ job: null })
    const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } })
    expect(await metrics.text()).toContain(`starflow_queue_depth{queue="${flow.queue('a')}"} 1\n`)
  })
})
