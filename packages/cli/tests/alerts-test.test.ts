import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { runCommandLine } from '../src/program.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const folder = mkdtempSync(join(tmpdir(), 'starflow-alerts-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())

/** What arrives: at /up it is taken, anywhere else not. */
const arrived: { readonly url: string; readonly body: string; readonly signature: string }[] = []
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const signature = String(request.headers['webhook-signature'])
  arrived.push({ url: request.url!, body: Buffer.concat(chunks).toString(), signature })
  response.statusCode = request.url === '/up' ? 204 : 500
  response.end()
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
afterAll(() => void receiver.close())
const { port } = receiver.address() as { port: number }

const file = join(folder, 'starflow.yaml')
writeFileSync(
  file,
  `alerts:
  webhooks:
    up: { url: http://127.0.0.1:${port}/up, secrets: [ALERT_SECRET] }
    down: { url: { variable: DOWN_URL }, secrets: [ALERT_SECRET] }
`,
)

async function alertsTest(...options: string[]) {
  vi.stubEnv('ALERT_SECRET', SECRET)
  vi.stubEnv('DOWN_URL', `http://127.0.0.1:${port}/down`)
  arrived.length = 0
  const written = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (part: string) => {
      written[name] += part
    },
  })
  const exitCode = await runCommandLine(['alerts', 'test', '--file', file, ...options], {
    ...{ stdout: stream('stdout'), stderr: stream('stderr') },
  })
  return { exitCode, ...written }
}

test('alerts test sends a signed sample to each webhook and fails when one does not take it', async () => {
  const { exitCode, stdout } = await alertsTest()
  expect(exitCode).toBe(1)
  expect(stdout).toBe('up: taken, with status 204\ndown: not taken (status 500)\n')
  expect(arrived.map(({ url }) => url).sort()).toEqual(['/down', '/up'])
  for (const { body, signature } of arrived) {
    expect(JSON.parse(body)).toMatchObject({ type: 'starflow.alert.test', data: { problems: [{ status: 'open' }] } })
    expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
  }
  const one = await alertsTest('--to', 'up', '--json')
  expect([one.exitCode, JSON.parse(one.stdout)]).toEqual([
    0,
    { answers: [{ webhook: 'up', isTaken: true, status: 204 }] },
  ])
})

test('alerts test --dry-run prints the requests and sends nothing', async () => {
  const { exitCode, stdout } = await alertsTest('--dry-run')
  expect([exitCode, arrived]).toEqual([0, []])
  expect(stdout).toContain(`up: POST http://127.0.0.1:${port}/up\n`)
  expect(stdout).toContain('  webhook-signature: v1,')
  expect(stdout).toContain('"summary":"Queue \\"examplev1__step\\" has 12 messages, and no live worker."')
  expect(stdout).not.toContain(SECRET)
})

test('alerts test names what is missing, and the webhooks that there are', async () => {
  const unknown = await alertsTest('--to', 'nobody')
  expect([unknown.exitCode, arrived]).toEqual([2, []])
  expect(unknown.stderr).toContain('The webhooks under alerts: up, down.')
  vi.stubEnv('ALERT_SECRET', '')
  const written: string[] = []
  const stream = { write: (part: string) => void written.push(part) }
  expect(await runCommandLine(['alerts', 'test', '--file', file], { stdout: stream, stderr: stream })).toBe(1)
  expect(written.join('')).toContain('alerts.webhooks.up.secrets.0: the environment variable ALERT_SECRET is not set.')
})
