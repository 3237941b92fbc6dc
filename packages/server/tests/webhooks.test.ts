import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Substrate, testServer, testStorage } from './support/test-servers.ts'

const SECRET = 'a secret of the tests, which never shows'
const YAML = `
webhooks:
  github:
    flow: greetV1
    signature: { scheme: github, secrets: [NEXT_SECRET, HOOK_SECRET] }
    when:
      - { header: X-GitHub-Event, in: [push] }
      - { field: /ref, in: [refs/heads/main] }
    input:
      name: { $from: /body/pusher/name }
      event: { $from: /headers/x-github-event }
      delivery: { $from: /delivery }
      note: { $from: /body/note, $default: none }
      fixed: [1, two, { three: true }]
  slack:
    flow: greetV1
    signature: { scheme: slack, secrets: [HOOK_SECRET] }
  own:
    flow: greetV1
    signature: { scheme: hmac, secrets: [HOOK_SECRET], header: x-signature }
    delivery: { field: /id }
    input: { name: { $from: /body/name } }
`

const folder = mkdtempSync(join(tmpdir(), 'starflow-webhooks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'starflow.yaml')
writeFileSync(file, YAML)

const signature = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex')

describe.each<Substrate>(['sqlite', 'supabase'])('webhooks on %s', async (substrate) => {
  const server = await testServer(await testStorage(substrate), {
    ...{ STARFLOW_CONFIG_FILE: file, STARFLOW_DEFAULT_WORKSPACE: 'hooks' },
    ...{ HOOK_SECRET: SECRET, NEXT_SECRET: 'another secret of the tests, as long' },
  })
  const hooks = server.operator.with({ 'starflow-workspace': 'hooks' })

  async function deliver(name: string, body: string, headers: Record<string, string>) {
    const response = await fetch(`${server.url}/webhooks/${name}`, {
      ...{ method: 'POST', body },
      headers: { 'content-type': 'application/json', ...headers },
    })
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: a test looks at it from all sides
    return { status: response.status, text, body: (text.startsWith('{') ? JSON.parse(text) : undefined) as any }
  }
  const push = (value: object, delivery: string, headers: Record<string, string> = {}) => {
    const text = JSON.stringify(value)
    const signed = { 'x-hub-signature-256': `sha256=${signature(text)}`, 'x-github-delivery': delivery }
    return deliver('github', text, { ...signed, 'x-github-event': 'push', ...headers })
  }
  const slack = (body: string, type: string) => {
    const seconds = String(Math.floor(Date.now() / 1000))
    return deliver('slack', body, {
      ...{ 'content-type': type, 'x-slack-request-timestamp': seconds },
      'x-slack-signature': `v0=${signature(`v0:${seconds}:${body}`)}`,
    })
  }
  const own = (body: string, type = 'application/json') =>
    deliver('own', body, { 'x-signature': signature(body), 'content-type': type })
  const runCount = async () => (await hooks.get('/api/runs?limit=500')).body.runs.length

  const main = { ref: 'refs/heads/main', pusher: { name: 'Ana' } }

  test('a delivery starts a run of the default workspace with the mapped input', async () => {
    const { status, body } = await push(main, 'delivery-1')
    expect([status, body.outcome]).toEqual([202, 'started'])
    expect((await hooks.get(`/api/runs/${body.runId}`)).body).toMatchObject({
      ...{ flow: 'greetV1', workspace: 'hooks', env: 'prod' },
      input: { name: 'Ana', event: 'push', delivery: 'delivery-1', note: 'none', fixed: [1, 'two', { three: true }] },
    })
  })

  test('the same delivery again, also at the same time, is answered with the run that it started', async () => {
    const before = await runCount()
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => push(main, 'delivery-2')))
    expect(answers.filter(({ body }) => body.outcome === 'started')).toHaveLength(1)
    expect(answers.filter(({ body }) => body.outcome === 'repeated')).toHaveLength(4)
    const { runId } = answers.find(({ body }) => body.outcome === 'started')!.body
    expect((await push(main, 'delivery-2')).body).toEqual({ outcome: 'repeated', runId })
    expect(await runCount()).toBe(before + 1)
  })

  test('what the webhook is not for is answered and starts nothing', async () => {
    const before = await runCount()
    expect(await push(main, 'delivery-3', { 'x-github-event': 'ping' })).toMatchObject({
      ...{ status: 200, body: { outcome: 'ignored', runId: null } },
    })
    expect((await push({ ...main, ref: 'refs/heads/other' }, 'delivery-4')).body.outcome).toBe('ignored')
    expect(await runCount()).toBe(before)
  })

  test('an unknown webhook, a bad signature and a body that was changed are refused, and nothing is recorded', async () => {
    expect((await deliver('constructor', '{}', {})).body.error.code).toBe('SF921')
    const text = JSON.stringify(main)
    const headers = { 'x-github-delivery': 'delivery-5', 'x-github-event': 'push' }
    const bad = await deliver('github', `${text} `, { ...headers, 'x-hub-signature-256': `sha256=${signature(text)}` })
    expect([bad.status, bad.body.error.code]).toEqual([403, 'SF922'])
    expect((await deliver('github', text, headers)).body.error.code).toBe('SF922')
    expect((await push(main, 'delivery-5')).status).toBe(202)
  })

  test('what lacks an input is refused, and is started when the sender repeats it mended', async () => {
    const lacking = await push({ ref: 'refs/heads/main' }, 'delivery-6')
    expect([lacking.status, lacking.body.error.code]).toEqual([422, 'SF923'])
    expect(lacking.body.error.detail).toContain('/body/pusher/name')
    expect((await push(main, 'delivery-6')).status).toBe(202)
  })

  test('Slack is answered with its challenge, and with nothing else', async () => {
    const before = await runCount()
    const challenge = await slack(JSON.stringify({ type: 'url_verification', challenge: '3eZbrw' }), 'application/json')
    expect([challenge.status, challenge.text]).toEqual([200, '3eZbrw'])
    expect(await runCount()).toBe(before)
    const command = await slack('command=%2Fgreet&text=Bo&trigger_id=1.2', 'application/x-www-form-urlencoded')
    expect([command.status, command.text]).toEqual([200, ''])
    const [latest] = (await hooks.get('/api/runs?limit=1')).body.runs
    expect((await hooks.get(`/api/runs/${latest.runId}`)).body.input).toEqual({
      ...{ command: '/greet', text: 'Bo', trigger_id: '1.2' },
    })
  })

  test('a body that cannot be read, or not be kept, is refused by what it is', async () => {
    expect((await own('{"id":')).body.error).toMatchObject({ code: 'SF923', detail: 'It is not JSON.' })
    expect(await own('<id>1</id>', 'application/xml')).toMatchObject({ status: 415 })
    expect((await own('{"name":"Ana"}')).body.error).toMatchObject({
      code: 'SF923',
      message: 'The delivery has no id.',
    })
    expect((await own('{"id":"nul","name":"a\\u0000b"}')).body.error.code).toBe('SF923')
    expect((await own(`{"id":1,"name":"${'a'.repeat(1_048_576)}"}`)).status).toBe(413)
    expect((await own('{"id":7,"name":"Cy"}')).status).toBe(202)
  })

  test('a body that is nested without end is refused', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const { status, body } = await own(`{"id":"deep","name":"Di","more":${deep}}`)
    expect([status, body.error.code]).toEqual([422, 'SF923'])
  })

  test('ids that are larger than a number can tell apart name their deliveries all the same', async () => {
    const first = await own('{"id":12345678901234567890,"name":"Ed"}')
    const second = await own('{"id":12345678901234567891,"name":"Ed"}')
    expect([first.body.outcome, second.body.outcome]).toEqual(['started', 'started'])
    expect((await own('{"id":12345678901234567891,"name":"Ed"}')).body).toEqual({
      outcome: 'repeated',
      runId: second.body.runId,
    })
  })

  test('a number that would be rounded is refused where the input takes it, and passed over elsewhere', async () => {
    const taken = await own('{"id":"large-1","name":1970670598291982290}')
    expect([taken.status, taken.body.error.detail]).toEqual([422, expect.stringContaining('$.name has more digits')])
    const other = await own('{"id":"large-1","name":"Ed","account":1970670598291982290}')
    expect(other.body.outcome).toBe('started')
  })

  test('a long id, or one with anything in it, names its delivery all the same', async () => {
    const id = `${'ä'.repeat(3000)}`
    const first = await own(JSON.stringify({ id, name: 'Di' }))
    expect((await own(JSON.stringify({ id, name: 'Di' }))).body).toEqual({
      outcome: 'repeated',
      runId: first.body.runId,
    })
  })

  test('neither a secret nor anything of a body is in the log', () => {
    const log = JSON.stringify(server.log)
    expect(log).toContain('trigger.fired')
    for (const text of [SECRET, 'Ana', 'delivery-1', 'refs/heads', '3eZbrw']) expect(log).not.toContain(text)
  })
})

test('a bad file refuses the boot with all its problems in one error, and names no secret', async () => {
  const bad = join(folder, 'bad.yaml')
  writeFileSync(
    bad,
    `triggers:
  nightly: { cron: 0 3 * * *, flow: gretV1, pool: heavy }
webhooks:
  own:
    flow: greetV1
    signature: { scheme: hmac, secrets: [UNSET_SECRET, SHORT_SECRET], header: x-signature }
`,
  )
  const start = testServer(await testStorage('sqlite'), { STARFLOW_CONFIG_FILE: bad, SHORT_SECRET: 'hunter2' })
  await expect(start).rejects.toMatchObject({
    code: 'SF920',
    detail: [
      `${bad}:2:31 triggers.nightly.flow: there is no flow "gretV1". Known: approvalV1, brokenV1, greetV1.`,
      `${bad}:2:45 triggers.nightly.pool: "heavy" is not one of pools.`,
      `${bad}:4:3 webhooks.own.delivery: is missing: with scheme hmac nothing else says what names a delivery.`,
      `${bad}:6:42 webhooks.own.signature.secrets.0: the environment variable UNSET_SECRET is not set.`,
      `${bad}:6:56 webhooks.own.signature.secrets.1: the secret in SHORT_SECRET must have at least 16 characters.`,
    ].join('\n'),
  })
})

test('a file that is named has to be there', async () => {
  const start = testServer(await testStorage('sqlite'), { STARFLOW_CONFIG_FILE: join(folder, 'missing.yaml') })
  await expect(start).rejects.toMatchObject({ code: 'SF920', detail: 'It does not exist.' })
})
