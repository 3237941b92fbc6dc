import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow } from '@starflow/dsl'
import { signWaitToken, type WaitHost } from '@starflow/engine'
import { describe, expect, test } from 'vitest'
import { type TestServer, testServer, testStorage, WAIT_SECRET } from './support/test-servers.ts'
import { until } from './support/until.ts'

/** Two waits, one after the other, in either placement. */
const approval = new Flow<{ name: string }>({ slug: 'releaseV1' })
  .wait({ slug: 'review', timeout: 3600 })
  .wait({ slug: 'release', dependsOn: ['review'] })
/** Waits for nothing. */
const plain = new Flow({ slug: 'plainV1' }).step({ slug: 'write' }, () => 'a letter')
const key = { kid: 'default', secret: WAIT_SECRET }

const supabase = await testStorage('supabase')
const { sql } = supabase.database!
await sql`select vault.create_secret(${WAIT_SECRET}, 'starflow_wait_token_secret')`
const flows = [approval, plain]
for (const flow of flows) {
  const shape = extractFlowShape(flow)
  await new StarflowSql(sql).ensureFlowCompiled({ flowSlug: flow.slug, shape, queueMode: 'flow', routeMap: null })
}
// Each test may be a client of its own, as far as failed attempts go.
const env = { STARFLOW_TRUSTED_PROXIES: '1' }
const onSupabase = await testServer(supabase, env, { flows })
const sqlite = await testStorage('sqlite')
const onSqlite = await testServer(sqlite, env, { flows })

const homes: readonly [string, TestServer, 'queue' | 'runner'][] = [
  ['on step queues', onSupabase, 'queue'],
  ['on a runner, on Supabase', onSupabase, 'runner'],
  ['on a runner, on SQLite', onSqlite, 'runner'],
]

describe.each(homes)('a wait %s', async (name, server, placement) => {
  const shop = await server.workspace('shop')
  const open = async () => {
    const { body } = await shop.post('/api/runs', { flow: 'releaseV1', input: { name: 'Ana' }, placement })
    await until(
      async () => (await shop.get('/api/waits')).body.waits,
      (waits) => waits.some(({ runId }: { runId: string }) => runId === body.runId),
    )
    return body.runId as string
  }
  const issue = (runId: string, step: string, body = {}) => shop.post(`/api/runs/${runId}/waits/${step}/token`, body)
  const resume = (token: string, payload: string) => server.nobody.post('/api/waits/resume', { token, payload })

  test('stands in the inbox with its flow', async () => {
    const runId = await open()
    const { waits } = (await shop.get('/api/waits')).body
    expect(waits.find((wait: { runId: string }) => wait.runId === runId)).toEqual({
      ...{ runId, flow: 'releaseV1', placement, step: 'review' },
      ...{ openedAt: expect.any(String), dueAt: expect.any(String) },
    })
  })

  test('is resumed by whoever holds a token of it, once; what comes later is told so', async () => {
    const runId = await open()
    const { token } = (await issue(runId, 'review')).body
    expect(await resume(token, 'yes')).toMatchObject({
      status: 200,
      body: { runId, step: 'review', outcome: 'accepted' },
    })
    const another = (await issue(runId, 'review')).body.token
    for (const late of [token, another]) {
      expect((await resume(late, 'no')).body.outcome).toBe('already_resumed')
    }
    await until(
      async () => (await shop.get(`/api/runs/${runId}/steps/review/output`)).body,
      (body) => body.output === 'yes',
    )
  })

  test('may have a token before it opens; then the payload is kept until it does', async () => {
    const runId = await open()
    const { token } = (await issue(runId, 'release')).body
    expect((await resume(token, 'early')).body.outcome).toBe('early')
    await resume((await issue(runId, 'review')).body.token, 'yes')
    const run = await until(
      () => shop.get(`/api/runs/${runId}`),
      ({ body }) => body.status === 'success',
    )
    expect(run.body.output).toEqual({ release: 'early' })
  })

  test('has a token that is good a week longer than it is open, or as long as was asked for', async () => {
    const runId = await open()
    const lifeOf = (answer: { body: { expiresAt: string } }) => (Date.parse(answer.body.expiresAt) - Date.now()) / 1000
    const week = 7 * 24 * 3600
    expect(lifeOf(await issue(runId, 'review'))).toSatisfy((life: number) => life > week && life < week + 3660)
    expect(lifeOf(await issue(runId, 'review', { expiresInSeconds: 600 }))).toSatisfy(
      (life: number) => life > 300 && life < 660,
    )
    expect((await issue(runId, 'review', { expiresInSeconds: 0 })).status).toBe(400)
  })

  test('is not resumed by a token that has expired, was changed, or is of another key, and nothing is told but that', async () => {
    const runId = await open()
    const claims = { placement, runId, stepSlug: 'review', expiresAt: 1_700_000_000 }
    expect(await resume(signWaitToken(claims, key), 'late')).toMatchObject({
      status: 403,
      body: { error: { code: 'SF208' } },
    })
    const good = (await issue(runId, 'review')).body.token as string
    const [version, kid, body, signature] = good.split('.') as [string, string, string, string]
    const other = Buffer.from(Buffer.from(body, 'base64url').toString().replace('"review"', '"release"')).toString(
      'base64url',
    )
    const future = { ...claims, expiresAt: Math.floor(Date.now() / 1000) + 3600 }
    const forged = [
      [version, kid, other, signature].join('.'),
      [version, 'elsewhere', body, signature].join('.'),
      [version, kid, body, `${signature.slice(0, -2)}AA`].join('.'),
      signWaitToken(future, { kid: 'default', secret: 'another secret, which is as long as the first one' }),
      ...[`${version}.${kid}.${body}.`, `${version}.${kid}.${body}`, 'x', '…'],
    ]
    const forger = server.nobody.with({ 'x-forwarded-for': `10.1.${homes.findIndex(([home]) => home === name)}.1` })
    const answers = await Promise.all(
      forged.map((token) => forger.post('/api/waits/resume', { token, payload: 'forged' })),
    )
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.error.code} ${body.error.detail}`)).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 403, body: { error: { code: 'SF207' } } })
    expect((await resume(good, 'yes')).body.outcome).toBe('accepted')
  })

  test('is guarded against guesses: after ten from one address nothing from there is looked at, and others go on', async () => {
    const good = (await issue(await open(), 'review')).body.token as string
    const attempt = (address: string, token: string) =>
      server.nobody.with({ 'x-forwarded-for': address }).post('/api/waits/resume', { token, payload: null })
    const guesser = `10.2.${homes.findIndex(([home]) => home === name)}.1`
    for (let guess = 0; guess < 10; guess++)
      expect((await attempt(guesser, `sfw1.default.e30.${guess}`)).status).toBe(403)
    expect(await attempt(guesser, good)).toMatchObject({ status: 429, body: { error: { code: 'SF906' } } })
    expect((await attempt('10.2.9.9', good)).body.outcome).toBe('accepted')
  })

  test('of a run or a step that there is not has no token, and neither has a step that nobody waits for, which is not resumed either', async () => {
    const runId = await open()
    const { body: letter } = await shop.post('/api/runs', { flow: 'plainV1', input: {}, placement })
    const refusal = { status: 404, body: { error: { code: 'SF209' } } }
    for (const [id, step] of [
      [runId, 'nothing'],
      [letter.runId, 'write'],
    ]) {
      expect(await shop.post(`/api/runs/${id}/waits/${step}/resume`, { payload: 'yes' })).toMatchObject(refusal)
      expect(await issue(id, step)).toMatchObject(refusal)
    }
    expect(await issue(randomUUID(), 'review')).toMatchObject({ status: 404, body: { error: { code: 'SF802' } } })
  })

  test('has an end when its run is cancelled, which its token is told', async () => {
    const runId = await open()
    const { token } = (await issue(runId, 'review')).body
    await shop.post(`/api/runs/${runId}/cancel`)
    expect((await resume(token, 'too late')).body.outcome).toBe('run_ended')
  })
})

test('a server without the secret issues no token, and says which variable is missing', async () => {
  const { body } = await (await onSqlite.workspace('shop')).post('/api/runs', {
    flow: 'releaseV1',
    input: { name: 'Ana' },
  })
  const server = await testServer(sqlite, { STARFLOW_WAIT_TOKEN_SECRET: '' }, { flows })
  const refused = await (await server.workspace('shop')).post(`/api/runs/${body.runId}/waits/review/token`)
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'SF206' } } })
  expect(refused.body.error.detail).toContain('STARFLOW_WAIT_TOKEN_SECRET')
  for (const placement of [undefined, 'runner']) {
    const start = await (await server.workspace('shop')).post('/api/runs', { flow: 'releaseV1', input: {}, placement })
    expect(start).toMatchObject({ status: 409, body: { error: { code: 'SF910' } } })
    expect(start.body.error.detail).toContain('its step "review" waits')
    expect(start.body.error.hint).toContain('STARFLOW_WAIT_TOKEN_SECRET')
  }
})

test('a program that starts the server is told of waits that open on its runners, with a token', async () => {
  const opened = new Promise<{ flowSlug: string; runId: string; nodeId: string; token: string }>((resolve) => {
    const waitListeners = [async (wake: Parameters<WaitHost['emitWaitWake']>[0]) => resolve(wake)]
    void testServer(supabase, { STARFLOW_RUNNER_POOL: 'told' }, { flows, waitListeners })
  })
  const shop = await onSupabase.workspace('shop')
  const start = { flow: 'releaseV1', input: { name: 'Ana' }, placement: 'runner', pool: 'told' }
  const { runId } = (await shop.post('/api/runs', start)).body
  const { token, ...wake } = await opened
  expect(wake).toMatchObject({ flowSlug: 'releaseV1', runId, nodeId: 'review' })
  expect((await onSupabase.nobody.post('/api/waits/resume', { token })).body.outcome).toBe('accepted')
})

test('no token of a wait is in a log', () => {
  for (const { log } of [onSupabase, onSqlite]) expect(JSON.stringify(log)).not.toContain('sfw1.')
})
