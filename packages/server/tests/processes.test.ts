import { describe, expect, test } from 'vitest'
import { ApiClient, type StreamedEvent } from './support/api-client.ts'
import { ServerProcesses } from './support/server-processes.ts'
import { testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

describe('an edge and a runner on one database', async () => {
  const processes = new ServerProcesses(await testStorage('supabase'))
  const edge = await processes.start('edge')
  const start = async (name: string) =>
    (await edge.api.post('/api/runs', { flow: 'slowV1', input: { name } })).body.runId as string
  const statusOf = async (runId: string) => (await edge.api.get(`/api/runs/${runId}`)).body.status as string

  test('each says what it is, and both show the same database', async () => {
    const runner = await processes.start('runner')
    const [one, other] = await Promise.all([edge.api.get('/health'), runner.api.get('/health')])
    expect(one.body).toMatchObject({
      role: 'edge',
      service: 'edge',
      workspace: 'celestial',
      runner: null,
      status: 'ready',
    })
    expect(other.body).toMatchObject({ role: 'runner', runner: { pool: null, activeRuns: 0 }, status: 'ready' })
    expect(other.body.databaseId).toBe(one.body.databaseId)
    runner.child.kill('SIGTERM')
    expect(await runner.ended).toBe(0)
  })

  test('an edge executes nothing: the run appears in the log of the runner only', async () => {
    const runId = await start('where')
    const runner = await processes.start('runner')
    expect(await processes.begunBy('where', ['edge', 'runner'])).toBe('runner')
    processes.leave('where')
    await until(
      () => statusOf(runId),
      (status) => status === 'success',
    )
    const mentions = (log: readonly object[]) => log.filter((line) => JSON.stringify(line).includes(runId)).length
    expect(mentions(edge.log)).toBe(0)
    await until(
      async () => mentions(runner.log),
      (count) => count > 0,
    )
    runner.child.kill('SIGTERM')
    expect(await runner.ended).toBe(0)
  })

  test('a runner serves health and readiness, and nothing else', async () => {
    const runner = await processes.start('runner')
    const statuses = await Promise.all(
      ['/health', '/readyz', '/api/runs', '/api/openapi.json', '/webhooks/x', '/'].map(
        async (path) => (await runner.api.get(path)).status,
      ),
    )
    expect(statuses).toEqual([200, 200, 404, 404, 404, 404])
    runner.child.kill('SIGKILL')
    await runner.ended
  })

  test('a runner that drains answers 503 and claims nothing more, while its run goes on to its end', async () => {
    const runner = await processes.start('runner', { STARFLOW_SERVICE_ID: 'draining' })
    const runId = await start('long')
    expect(await processes.begunBy('long', ['draining'])).toBe('draining')
    runner.child.kill('SIGTERM')
    await until(
      async () => (await runner.api.get('/readyz')).status,
      (status) => status === 503,
    )
    expect((await runner.api.get('/health')).body).toMatchObject({ status: 'draining', runner: { activeRuns: 1 } })
    const next = await start('next')
    processes.leave('long')
    expect(await runner.ended).toBe(0)
    expect([await statusOf(runId), await statusOf(next)]).toEqual(['success', 'queued'])
    const messages = runner.log.map((line) => line.message)
    expect(messages.indexOf('draining')).toBeLessThan(messages.indexOf('runner.draining'))
    expect(messages.at(-1)).toBe('stopped')
    await edge.api.post(`/api/runs/${next}/cancel`)
  })

  test('what is not done when the drain is over is left to the sweep, and ends on another runner', async () => {
    const runner = await processes.start('runner', { STARFLOW_SERVICE_ID: 'late', STARFLOW_DRAIN_TIMEOUT_MS: '200' })
    const runId = await start('late')
    await processes.begunBy('late', ['late'])
    runner.child.kill('SIGTERM')
    expect(await runner.ended).toBe(0)
    expect(await statusOf(runId)).toBe('running')
    processes.leave('late')
    const heir = await processes.start('runner', { STARFLOW_SERVICE_ID: 'heir' })
    await until(
      () => statusOf(runId),
      (status) => status === 'success',
      90_000,
    )
    const run = (await edge.api.get(`/api/runs/${runId}`)).body
    expect(run.output).toEqual({ work: 'done by heir' })
    heir.child.kill('SIGTERM')
    expect(await heir.ended).toBe(0)
  })

  test('a runner with a pool claims its pool and what has none; without one, only what has none', async () => {
    const pooled = await processes.start('runner', { STARFLOW_SERVICE_ID: 'pooled', STARFLOW_RUNNER_POOL: 'gpu' })
    const gpu = (await edge.api.post('/api/runs', { flow: 'slowV1', input: { name: 'gpu' }, pool: 'gpu' })).body.runId
    const tape = (await edge.api.post('/api/runs', { flow: 'slowV1', input: { name: 'tape' }, pool: 'tape' })).body
      .runId
    await start('none')
    expect(await processes.begunBy('gpu', ['pooled'])).toBe('pooled')
    expect(await processes.begunBy('none', ['pooled'])).toBe('pooled')
    expect((await edge.api.get('/api/runners/unserved')).body.runs).toMatchObject([
      { runId: tape, reason: 'other_pool' },
    ])
    const plain = await processes.start('runner', { STARFLOW_SERVICE_ID: 'plain' })
    await start('free')
    await processes.begunBy('free', ['pooled', 'plain'])
    expect(await statusOf(tape)).toBe('queued')
    for (const name of ['gpu', 'none', 'free']) processes.leave(name)
    await until(
      () => statusOf(gpu),
      (status) => status === 'success',
    )
    for (const runner of [pooled, plain]) runner.child.kill('SIGTERM')
    await Promise.all([pooled.ended, plain.ended])
  })

  test('an edge that drains ends the streams that are open, and with them its process', async () => {
    const other = await processes.start('edge', { STARFLOW_SERVICE_ID: 'leaving' })
    const runner = await processes.start('runner')
    const runId = await start('watched')
    let stream: Promise<readonly StreamedEvent[]> = Promise.resolve([])
    await new Promise<void>((open, refused) => {
      stream = other.api.stream(`/api/runs/${runId}/events`, {}, () => {
        open()
        return false
      })
      stream.catch(refused)
    })
    other.child.kill('SIGTERM')
    expect(await other.ended).toBe(0)
    expect((await stream).some(({ event }) => event === 'end')).toBe(false)
    runner.child.kill('SIGKILL')
    await runner.ended
    await edge.api.post(`/api/runs/${runId}/cancel`)
  })
})

test('two databases show two ids, which is how a stray process is noticed', async () => {
  const health = async (substrate: 'sqlite' | 'supabase') => {
    const server = await new ServerProcesses(await testStorage(substrate)).start('both')
    const { body } = await new ApiClient(server.url, undefined).get('/health')
    server.child.kill('SIGTERM')
    await server.ended
    return body.databaseId
  }
  expect(await health('sqlite')).not.toBe(await health('sqlite'))
})
