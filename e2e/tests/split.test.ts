import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Flow } from '@starflow/dsl'
import { startServer } from '@starflow/server'
import { afterAll, describe, expect, test } from 'vitest'
import { debianProgram } from '../support/debian-package.ts'
import { REPOSITORY } from '../support/programs.ts'

// What docs/operations/split.md gives to systemd and to Caddy, looked at by these themselves.

// Not the synchronous one: the edges of this file are in its process, and would not answer meanwhile.
const run = promisify(execFile)
const page = readFileSync(join(REPOSITORY, 'docs/operations/split.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'starflow-split-e2e-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A file that the page shows, by its path. */
function fileOf(path: string): string {
  const block = [...page.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].find(([, text]) => text!.startsWith(`# ${path}\n`))
  if (block === undefined) throw new Error(`the page does not show ${path}`)
  return block[1]!
}

test('systemd finds nothing wrong with the unit, and little that it exposes', async () => {
  const systemdAnalyze = debianProgram('systemd', ['systemd-analyze'])
  const name = 'starflow.server.api@.service'
  const unit = join(folder, name)
  writeFileSync(unit, fileOf(`/etc/systemd/system/${name}`).replaceAll('/srv/starflow', REPOSITORY))
  expect((await run(systemdAnalyze, ['verify', unit])).stderr).toBe('')
  // Of 100; a unit without a sandbox has 96. It fails above the threshold.
  await run(systemdAnalyze, ['security', '--offline=true', '--no-pager', '--threshold=20', unit])
})

describe('behind the Caddy of the page', async () => {
  const caddy = debianProgram('caddy', ['caddy'], ['version'])
  const OPERATOR = 'the-operators-token-of-this-test'
  let leave = () => {}
  const slow = new Flow({ slug: 'slowV1' }).step(
    { slug: 'wait' },
    () => new Promise<void>((resolve) => (leave = resolve)),
  )
  const ci = new Flow({ slug: 'ciV1' }).step({ slug: 'build' }, () => 'built')
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const edge = (port: number, more: Readonly<Record<string, string>> = {}) =>
    startServer({
      ...{ flows: [slow, ci], log: silent },
      env: {
        ...{ STARFLOW_PORT: String(port), STARFLOW_API_TOKEN: OPERATOR, STARFLOW_SQLITE_PATH: join(folder, 'runs.db') },
        ...Object.fromEntries(assignments.filter(([variable]) => /PROXIES|NOTICE/.test(variable!))),
        ...more,
      },
    })
  const assignments = [...fileOf('/etc/starflow/server.env').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [
    name,
    value,
  ])
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  const [front, first, second] = ports
  const edges = new Map(await Promise.all([first, second].map(async (port) => [port, await edge(port)] as const)))
  afterAll(() => Promise.all([...edges.values()].map((server) => server.drain())))

  const config = join(folder, 'Caddyfile')
  writeFileSync(
    config,
    fileOf('/etc/caddy/Caddyfile')
      .replace('starflow.example.com', `http://127.0.0.1:${front}`)
      .replace('8787', String(first))
      .replace('8788', String(second))
      .replace('{\n', '{\n\tadmin off\n'),
  )
  const process = spawn(caddy, ['run', '--config', config, '--adapter', 'caddyfile'], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin', HOME: folder },
  })
  afterAll(() => void process.kill('SIGKILL'))
  const url = `http://127.0.0.1:${front}`
  while (
    !(await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await pause(50)

  const headers = {
    authorization: `Bearer ${OPERATOR}`,
    'starflow-workspace': 'shop',
    'content-type': 'application/json',
  }
  const start = (flow: string) => fetch(`${url}/api/runs`, { method: 'POST', headers, body: JSON.stringify({ flow }) })

  test('the file of the page is one', async () => {
    const original = join(folder, 'Caddyfile.original')
    writeFileSync(original, fileOf('/etc/caddy/Caddyfile'))
    await run(caddy, ['validate', '--config', original, '--adapter', 'caddyfile'])
  })

  test('events come as they happen', async () => {
    const { runId } = (await (await start('slowV1')).json()) as { runId: string }
    const response = await fetch(`${url}/api/runs/${runId}/events`, {
      headers: { ...headers, accept: 'text/event-stream' },
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    // The run waits for leave, so what is not flushed does not come.
    while (!text.includes('event: node_start')) text += (await reader.read()).value
    expect(text).not.toContain('run_completed')
    leave()
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    expect(text).toContain('run_completed')
  })

  test('no request is lost while one edge after the other is restarted', async () => {
    const answers = new Map<unknown, number>()
    let isOver = false
    const clients = [1, 2, 3].map(async () => {
      while (!isOver) {
        const status = await start('ciV1').then(
          async (response) => {
            await response.arrayBuffer()
            return response.status
          },
          (error: unknown) => error,
        )
        answers.set(status, (answers.get(status) ?? 0) + 1)
      }
    })
    for (const [port, server] of edges) {
      await server.drain()
      edges.set(port, await edge(port))
      while (!(await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
      // Caddy has to see that it is back, before the other one goes.
      await pause(2000)
    }
    isOver = true
    await Promise.all(clients)
    expect([...answers.keys()]).toEqual([201])
  })

  test('whoever guesses tokens is one address, whatever it says of itself', async () => {
    const guess = (index: number) =>
      fetch(`${url}/api/runs`, {
        headers: {
          authorization: `Bearer guess-${index}`,
          'x-forwarded-for': `10.0.0.${index}`,
          forwarded: `for=10.0.1.${index}`,
        },
      })
    const statuses: number[] = []
    // Two edges count for themselves.
    for (let index = 0; index < 25; index++) statuses.push((await guess(index)).status)
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(20)
    expect([...new Set(statuses)].toSorted()).toEqual([401, 429])
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
