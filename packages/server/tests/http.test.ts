import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ApiClient } from './support/api-client.ts'
import { OPERATOR_TOKEN, testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

const files = mkdtempSync(join(tmpdir(), 'starflow-dashboard-'))
afterAll(() => rmSync(files, { recursive: true, force: true }))
mkdirSync(join(files, 'assets'))
writeFileSync(join(files, 'index.html'), '<title>dashboard</title>')
writeFileSync(join(files, 'assets/app.js'), 'app()')

const storage = await testStorage('sqlite')
const server = await testServer(storage, {
  STARFLOW_DASHBOARD_DIR: files,
  // Each test is a client of its own, as far as failed attempts go.
  STARFLOW_TRUSTED_PROXIES: '1',
})
const { token } = await server.token('shop')
const from = (address: string) => server.nobody.with({ 'x-forwarded-for': address })

describe('a body', () => {
  const send = (headers: Record<string, string>, body: string) =>
    fetch(`${server.url}/api/runs`, { method: 'POST', headers: { authorization: `Bearer ${token}`, ...headers }, body })

  test('of more than 1 MiB is refused, and nothing is started', async () => {
    const body = JSON.stringify({ flow: 'greetV1', input: { name: 'x'.repeat(1_100_000) } })
    const response = await send({ 'content-type': 'application/json' }, body)
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      413,
      'SF907',
    ])
    const client = new ApiClient(server.url, token)
    expect((await client.get('/api/runs')).body.runs).toEqual([])
  })

  test.each([
    ['that is no JSON', 'application/json', '{"flow": "a secret'],
    ['of another type', 'text/plain', '{}'],
  ])('%s is refused without repeating it', async (_, type, body) => {
    const response = await send({ 'content-type': type }, body)
    const text = await response.text()
    expect(response.status).toBe(400)
    expect(JSON.parse(text).error.code).toBe('SF902')
    expect(text).not.toContain('a secret')
  })
})

test('a caller who hangs up in the middle of a body is no failure of the server', async () => {
  const leaving = connect(Number(new URL(server.url).port), '127.0.0.1')
  leaving.write(
    `POST /api/runs HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  )
  const requests = () => server.log.filter(({ endpoint }) => endpoint === 'startRun').length
  const before = requests()
  await once(leaving, 'connect')
  leaving.destroy()
  await until(
    async () => requests(),
    (count) => count > before,
  )
  const [said] = server.log.filter(({ endpoint }) => endpoint === 'startRun').slice(before)
  expect(said).toMatchObject({ level: 'info', message: 'the caller hung up' })
})

describe('what no store can keep', () => {
  const shop = new ApiClient(server.url, token)
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const post = (input: string) =>
    fetch(`${server.url}/api/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: `{"flow":"greetV1","input":${input}}`,
    })

  test.each([
    ['a NUL', { name: 'a\u0000b' }],
    ['half of a surrogate pair', { name: ['fine', '\ud800'] }],
    ['a NUL in a key', { 'a\u0000b': 1 }],
  ])('%s in a body is refused, by where it is', async (_, input) => {
    const { status, body } = await shop.post('/api/runs', { flow: 'greetV1', input })
    expect([status, body.error.code]).toEqual([400, 'SF902'])
    expect(body.error.detail).toMatch(/^input/)
    expect(body.error.detail).toMatch(/text that cannot be kept/)
  })

  test('is refused in paths and queries too', async () => {
    for (const path of ['/api/runs?flow=a%00b', '/api/runs/00000000-0000-4000-8000-000000000000/waits/a%00b/token']) {
      const method = path.includes('?') ? 'GET' : 'POST'
      const { status, body } = await shop.send(method, path, method === 'GET' ? undefined : {})
      expect([status, body.error.code, path]).toEqual([400, 'SF902', path])
    }
  })

  test('a filter that there is not is refused by its name, instead of showing everything', async () => {
    for (const path of ['/api/runs?state=error', '/api/waits?flow=greetV1', '/api/flows?limit=1']) {
      const { status, body } = await shop.get(path)
      expect([status, body.error.code]).toEqual([400, 'SF902'])
      expect(body.error.detail).toContain(new URLSearchParams(path.split('?')[1]).keys().next().value)
    }
    expect((await shop.get('/readyz?from=a-load-balancer')).status).toBe(200)
  })

  test('a body that is nested without end is refused; one that is nested deeply is not', async () => {
    for (const levels of [300, 5000, 200_000]) {
      const response = await post(`{"name":${deep(levels)}}`)
      const { error } = (await response.json()) as { error: { code: string; detail: string } }
      expect([response.status, error.code]).toEqual([400, 'SF902'])
      expect(error.detail).toContain('nested')
    }
    expect((await post(`{"name":${deep(200)}}`)).status).toBe(201)
  })

  test('an id of an event that is none, however large, is refused', async () => {
    const { runId } = (await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Ana' } })).body
    const { status, body } = await shop.get(`/api/runs/${runId}/events?after=9999999999999999999`)
    expect([status, body.error.code]).toEqual([400, 'SF902'])
  })
})

describe('a refusal', () => {
  test('has code, message, detail, hint and the id under which the log has the request', async () => {
    const { body, headers, status } = await server.nobody.get('/api/runs')
    expect(status).toBe(401)
    expect(body).toEqual({
      error: {
        ...{ code: 'SF903', name: 'UnauthenticatedError', requestId: headers.get('starflow-request-id') },
        ...{ message: expect.any(String), detail: expect.any(String), hint: expect.any(String) },
      },
    })
    expect(headers.get('www-authenticate')).toBe('Bearer')
    expect(server.log).toContainEqual(
      expect.objectContaining({ requestId: body.error.requestId, code: 'SF903', message: 'refused' }),
    )
  })
})

describe('failed authentication', () => {
  test('is answered with 429 after ten attempts from one address, and from no other', async () => {
    const guesser = from('10.1.1.1')
    for (let attempt = 0; attempt < 10; attempt++) {
      expect((await guesser.with({ authorization: `Bearer guess-${attempt}` }).get('/api/runs')).status).toBe(401)
    }
    const refused = await guesser.with({ authorization: 'Bearer guess-10' }).get('/api/runs')
    expect([refused.status, refused.body.error.code]).toEqual([429, 'SF906'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const other = from('10.1.1.2').with({ authorization: `Bearer ${token}` })
    expect((await other.get('/api/runs')).status).toBe(200)
  })

  test('counts guesses at the sign-in too', async () => {
    const guesser = from('10.1.1.3')
    for (let attempt = 0; attempt < 10; attempt++) {
      expect((await guesser.post('/api/session', { token: `guess-${attempt}` })).status).toBe(401)
    }
    expect((await guesser.post('/api/session', { token: 'guess-10' })).status).toBe(429)
  })
})

describe('a sign-in', () => {
  const signIn = async (headers: Record<string, string> = {}, secret = token) => {
    const answer = await server.nobody.with(headers).post('/api/session', { token: secret })
    const cookie = answer.headers.get('set-cookie')!
    const atAnother = (edge: { nobody: ApiClient }) => edge.nobody.with({ cookie: cookie.split(';')[0]! })
    return { answer, cookie, browser: atAnother(server), atAnother }
  }

  test('gives a cookie that scripts cannot read and other sites cannot send', async () => {
    const { answer, cookie } = await signIn()
    expect(answer.body).toEqual({
      ...{ kind: 'workspace', workspace: 'shop', defaultWorkspace: 'shop', expiresAt: expect.any(String) },
    })
    expect(cookie).toContain('HttpOnly')
    expect(cookie).toContain('SameSite=Strict')
    expect(cookie).not.toContain('Secure')
    expect(cookie).not.toContain(token)
    expect((await signIn({ 'x-forwarded-proto': 'https' })).cookie).toContain('Secure')
  })

  test('reads with the cookie alone, and changes things only with the header that a foreign page cannot send', async () => {
    const { browser } = await signIn()
    expect((await browser.get('/api/session')).body).toMatchObject({ workspace: 'shop' })
    expect((await browser.get('/api/runs')).status).toBe(200)
    const start = { flow: 'greetV1', input: { name: 'Ana' } }
    const forged = await browser.post('/api/runs', start)
    expect([forged.status, forged.body.error.code]).toEqual([403, 'SF909'])
    expect((await browser.with({ 'starflow-request': '1' }).post('/api/runs', start)).status).toBe(201)
  })

  test("by a link is the operator's, once, and other codes count as failed attempts", async () => {
    const { origin, pathname, hash } = new URL(server.signInLink()!)
    expect([origin, pathname]).toEqual([server.url, '/sign-in'])
    const code = hash.replace('#code=', '')
    const { body, headers } = await server.nobody.post('/api/session/link', { code })
    expect(body).toEqual({
      ...{ kind: 'operator', workspace: null, defaultWorkspace: 'celestial', expiresAt: expect.any(String) },
    })
    const browser = server.nobody.with({ cookie: headers.get('set-cookie')!.split(';')[0]! })
    expect((await browser.get('/api/session')).body).toMatchObject({ kind: 'operator' })

    const guesser = from('10.1.1.4')
    const again = await guesser.post('/api/session/link', { code })
    expect([again.status, again.body.error.code, again.headers.get('set-cookie')]).toEqual([401, 'SF903', null])
    for (let attempt = 1; attempt < 10; attempt++) await guesser.post('/api/session/link', { code: `guess-${attempt}` })
    const unused = new URL(server.signInLink()!).hash.replace('#code=', '')
    expect((await guesser.post('/api/session/link', { code: unused })).status).toBe(429)
  })

  test('is over for every copy of its cookie and at every edge when it was signed out of, and others go on', async () => {
    const another = await testServer(storage)
    for (const secret of [token, OPERATOR_TOKEN]) {
      const [{ browser, atAnother }, other] = await Promise.all([signIn({}, secret), signIn({}, secret)])
      expect((await atAnother(another).get('/api/session')).status).toBe(200)
      const { status, headers } = await browser.with({ 'starflow-request': '1' }).send('DELETE', '/api/session')
      expect(status).toBe(200)
      expect(headers.get('set-cookie')).toMatch(/^starflow_session=;.*Expires=Thu, 01 Jan 1970/)
      expect((await browser.get('/api/session')).body.error.code).toBe('SF903')
      expect((await atAnother(another).get('/api/session')).body.error.code).toBe('SF903')
      expect((await other.browser.get('/api/session')).status).toBe(200)
    }
  })

  test('is kept to TLS by the browser once it came over TLS, and only then', async () => {
    const hsts = async (headers: Record<string, string>) =>
      (await server.nobody.with(headers).get('/health')).headers.get('strict-transport-security')
    expect([await hsts({}), await hsts({ 'x-forwarded-proto': 'https' })]).toEqual([null, 'max-age=15552000'])
  })

  test('as the operator names a workspace per request', async () => {
    const answer = await server.nobody.post('/api/session', { token: OPERATOR_TOKEN })
    const browser = server.nobody.with({ cookie: answer.headers.get('set-cookie')!.split(';')[0]! })
    expect((await browser.get('/api/runs')).status).toBe(400)
    expect((await browser.with({ 'starflow-workspace': 'shop' }).get('/api/runs')).status).toBe(200)
  })
})

describe('the dashboard', () => {
  const page = async (path: string) => {
    const response = await fetch(`${server.url}${path}`)
    return [response.status, await response.text()]
  }

  test('is served at / with its files, and for every path of its own', async () => {
    expect(await page('/')).toEqual([200, '<title>dashboard</title>'])
    expect(await page('/assets/app.js')).toEqual([200, 'app()'])
    expect(await page('/runs/7')).toEqual([200, '<title>dashboard</title>'])
  })

  test('lets a browser keep a file whose name has a hash, and not that one is missing', async () => {
    const kept = async (path: string) => (await fetch(`${server.url}${path}`)).headers.get('cache-control')
    expect(await kept('/assets/app.js')).toBe('public, max-age=31536000, immutable')
    expect(await kept('/')).toBe('no-cache')
    const missing = await fetch(`${server.url}/assets/gone.js`)
    expect([missing.status, missing.headers.get('cache-control')]).toEqual([404, 'no-cache'])
  })

  test('never answers for the API, and gives no file outside of its folder', async () => {
    expect((await server.nobody.get('/api/nothing')).status).toBe(404)
    const [, text] = await page('/..%2f..%2f..%2fetc/passwd')
    expect(text).not.toContain('root:')
  })
})

test('a server that drains takes requests until a proxy in front has had the time to notice', async () => {
  const leaving = await testServer(await testStorage('sqlite'), { STARFLOW_DRAIN_NOTICE_MS: '1000' })
  const drained = leaving.drain()
  await until(
    async () => leaving.log.map(({ message }) => message),
    (messages) => messages.includes('runner.stopped'),
  )
  expect((await leaving.nobody.get('/readyz')).status).toBe(503)
  const shop = leaving.operator.with({ 'starflow-workspace': 'shop' })
  expect((await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Ana' } })).status).toBe(201)
  await drained
  await expect(leaving.nobody.get('/readyz')).rejects.toThrow()
})

test('a server is described by the same schemas that check it', async () => {
  const { body } = await server.nobody.get('/api/openapi.json')
  expect(body.openapi).toBe('3.1.0')
  expect(body.paths['/api/runs'].post).toMatchObject({ operationId: 'startRun', 'x-access': 'workspace' })
  expect(Object.keys(body.paths['/api/runs'].post.responses)).toEqual(
    expect.arrayContaining(['200', '201', '409', '422']),
  )
})

test('every pointer of the description leads to a schema of it', async () => {
  const { body } = await server.nobody.get('/api/openapi.json')
  const pointers = new Set(JSON.stringify(body).match(/(?<="\$ref":")[^"]+/g))
  expect([...pointers].sort()).toEqual(['#/components/schemas/Error', '#/components/schemas/Json'])
  expect(Object.keys(body.components.schemas).sort()).toEqual(['Error', 'Json'])
})
