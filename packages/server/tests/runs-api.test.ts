import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ApiClient } from './support/api-client.ts'
import { type Substrate, testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

describe.each<Substrate>(['sqlite', 'supabase'])('runs on runners, kept on %s', async (substrate) => {
  const server = await testServer(await testStorage(substrate))
  const shop = await server.workspace('shop')
  const ended = (runId: string) =>
    until(
      async () => (await shop.get(`/api/runs/${runId}`)).body,
      (run) => run.endedAt !== null,
    )

  test('a start is executed by a runner, and the run shows its steps', async () => {
    const { status, body } = await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Ana' } })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      flow: 'greetV1',
      placement: 'runner',
      workspace: 'shop',
      env: 'prod',
      input: { name: 'Ana' },
    })
    const run = await ended(body.runId)
    expect(run).toMatchObject({ status: 'success', output: { shout: 'HELLO ANA' }, error: null })
    expect(
      run.steps.map(({ step, status, attempts }: Record<string, unknown>) => ({ step, status, attempts })),
    ).toEqual([
      { step: 'compose', status: 'completed', attempts: 1 },
      { step: 'shout', status: 'completed', attempts: 1 },
    ])
  })

  test('the same idempotency key gives the run that it started, and is refused for another flow', async () => {
    const start = { flow: 'greetV1', input: { name: 'Bo' }, idempotencyKey: 'order 7' }
    const first = await shop.post('/api/runs', start)
    const second = await shop.post('/api/runs', start)
    expect([first.status, second.status, second.body.runId]).toEqual([201, 200, first.body.runId])
    const other = await shop.post('/api/runs', { ...start, flow: 'brokenV1' })
    expect([other.status, other.body.error.code]).toEqual([409, 'SF202'])
  })

  test('a delayed run is not begun before its time', async () => {
    const { body } = await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Cy' }, delayMs: 3_600_000 })
    await ended((await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Di' } })).body.runId)
    expect((await shop.get(`/api/runs/${body.runId}`)).body).toMatchObject({ status: 'queued', startedAt: null })
  })

  test('a run of a pool without a runner is listed with the reason', async () => {
    const { body } = await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Ed' }, pool: 'gpu' })
    const { body: unserved } = await shop.get('/api/runners/unserved')
    expect(unserved.runs).toEqual([
      {
        runId: body.runId,
        flow: 'greetV1',
        pool: 'gpu',
        queuedAt: expect.any(String),
        reason: 'other_pool',
        detail: null,
      },
    ])
    expect((await server.operator.get('/api/runners')).body.runners).toMatchObject([
      { pool: null, isLive: true, capacity: 10 },
    ])
  })

  test('a queued run is cancelled once, and queued again by a retry', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Fe' }, pool: 'tape' })).body
    expect((await shop.post(`/api/runs/${runId}/cancel`)).body).toEqual({ cancelled: true })
    expect((await shop.post(`/api/runs/${runId}/cancel`)).body).toEqual({ cancelled: false })
    expect((await shop.get(`/api/runs/${runId}`)).body.status).toBe('cancelled')
    expect((await shop.post(`/api/runs/${runId}/retry`)).body).toEqual({ retried: true })
    expect((await shop.get(`/api/runs/${runId}`)).body.status).toBe('queued')
    expect((await shop.post(`/api/runs/${runId}/retry`)).body).toEqual({ retried: false })
  })

  test('a failed run says why', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'brokenV1', input: { name: 'Gi' } })).body
    const run = await ended(runId)
    expect(run.status).toBe('error')
    expect(run.error).toContain('no paper')
    expect(run.steps).toMatchObject([{ step: 'try', status: 'failed', error: 'no paper' }])
  })

  test('what happened is paged by the id of the last event', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Hu' } })).body
    await ended(runId)
    const all = (await shop.get(`/api/runs/${runId}/events`)).body.events
    expect(all.map((event: { type: string }) => event.type)).toEqual([
      ...['run_started', 'node_start', 'node_complete', 'node_start', 'node_complete', 'run_completed'],
    ])
    const paged: unknown[] = []
    for (let after = ''; ; ) {
      const { events } = (await shop.get(`/api/runs/${runId}/events?limit=2${after}`)).body
      if (events.length === 0) break
      paged.push(...events)
      after = `&after=${events.at(-1).id}`
    }
    expect(paged).toEqual(all)
  })

  test('a stream gives events as they come, ends with the run, and goes on behind the last id that was read', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'approvalV1', input: { name: 'Io' } })).body
    const path = `/api/runs/${runId}/events`
    const first = await shop.stream(path, {}, (events) => events.some(({ event }) => event === 'run_paused'))
    const rest = shop.stream(path, { 'last-event-id': first.at(-1)!.id! })
    await until(
      async () => (await shop.get('/api/waits')).body.waits,
      (waits) => waits.some((wait: { runId: string }) => wait.runId === runId),
    )
    const resumed = await shop.post(`/api/runs/${runId}/waits/decide/resume`, { payload: { ok: true } })
    expect(resumed.body).toEqual({ outcome: 'accepted' })
    const events = [...first, ...(await rest)]
    expect(events.at(-1)!.event).toBe('end')
    const all = (await shop.get(path)).body.events
    expect(events.slice(0, -1).map(({ data }) => data)).toEqual(all)
    expect((await shop.get(`/api/runs/${runId}`)).body).toMatchObject({
      status: 'success',
      output: { decide: { ok: true } },
    })
  })

  test('a stream ends when the token that opened it is revoked', async () => {
    const { token, tokenId } = await server.token('shop')
    const revoked = new ApiClient(server.url, token)
    const { runId } = (await shop.post('/api/runs', { flow: 'approvalV1', input: { name: 'Lu' } })).body
    let isOpen = false
    const stream = revoked.stream(`/api/runs/${runId}/events`, {}, (events) => {
      isOpen = events.length > 0
      return false
    })
    await until(
      async () => isOpen,
      (open) => open,
    )
    await server.revoke(tokenId)
    expect((await stream).map(({ event }) => event)).not.toContain('end')
    expect((await revoked.get(`/api/runs/${runId}`)).status).toBe(401)
    await shop.post(`/api/runs/${runId}/cancel`)
  })

  test('a stream of a run that has ended long ago ends at once', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Jo' } })).body
    await ended(runId)
    const events = await shop.stream(`/api/runs/${runId}/events`)
    const again = await shop.stream(`/api/runs/${runId}/events`, { 'last-event-id': events.at(-2)!.id! })
    expect([events.at(-1)!.event, again.map(({ event }) => event)]).toEqual(['end', ['end']])
  })

  test('pages of the list follow one another without a gap or a repetition', async () => {
    const pages = await server.workspace('pages')
    const started: string[] = []
    for (let index = 0; index < 5; index++) {
      started.push((await pages.post('/api/runs', { flow: 'greetV1', input: { name: `${index}` } })).body.runId)
    }
    const listed: string[] = []
    for (let cursor = ''; ; ) {
      const { runs, next } = (await pages.get(`/api/runs?limit=2${cursor}`)).body
      listed.push(...runs.map((run: { runId: string }) => run.runId))
      if (next === null) break
      cursor = `&cursor=${next}`
    }
    expect(listed).toEqual(started.toReversed())
  })

  test.each([
    [404, 'SF201', { flow: 'nowhereV1' }],
    [400, 'SF902', { flow: 'greetV1', inputs: {} }],
    [400, 'SF902', { flow: 'greetV1', pool: 'a b' }],
    [400, 'SF902', {}],
    [409, 'SF910', { flow: 'greetV1', placement: 'queue' }],
  ])('a bad start is answered %i %s: %j', async (status, code, body) => {
    const answer = await shop.post('/api/runs', body)
    expect([answer.status, answer.body.error.code]).toEqual([status, code])
    expect(answer.body.error).toMatchObject({ detail: expect.any(String), hint: expect.any(String) })
  })

  test('what is not there is told apart from what is wrong', async () => {
    expect(await shop.get(`/api/runs/${randomUUID()}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'SF802' } },
    })
    expect(await shop.get('/api/runs/seven')).toMatchObject({ status: 400, body: { error: { code: 'SF902' } } })
    expect(await shop.get('/api/runs?cursor=x')).toMatchObject({ status: 400, body: { error: { code: 'SF902' } } })
    expect(await shop.get('/api/nothing')).toMatchObject({ status: 404, body: { error: { code: 'SF908' } } })
  })
})
