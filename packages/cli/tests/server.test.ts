import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { debianProgram } from '../../../e2e/support/debian-package.ts'
import { STARFLOW } from '../../../tests/support/compiled.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { freePort } from './support/free-port.ts'
import { starflow } from './support/run-starflow.ts'
import { SampleProject } from './support/sample-project.ts'
import { runStarflow } from './support/starflow-process.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const OPERATOR = 'the-operators-token-of-this-test'

interface Health {
  readonly status: string
  readonly runner: { readonly activeRuns: number }
}

const project = new SampleProject({
  'supabase/functions/_flows/greet.ts': `
    import { Flow, withStepQueues } from '@starflow/dsl'
    export const greet = withStepQueues(new Flow<{ name: string }>({ slug: 'greetV1' }).step({ slug: 'say' }, ({ name }) => 'Hello ' + name))
    export const held = new Flow({ slug: 'heldV1' }).wait({ slug: 'approve' })
    export const endless = new Flow({ slug: 'endlessV1' }).step({ slug: 'go' }, () => new Promise<void>(() => setInterval(() => {}, 1000)))
  `,
})
afterAll(() => project.dispose())

/** `starflow server` in the project, ended after the tests of the file. */
async function startServer(env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...STARFLOW, 'server'], {
    cwd: project.root,
    env: { ...process.env, STARFLOW_PORT: '0', STARFLOW_API_TOKEN: OPERATOR, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  afterAll(() => void child.kill('SIGKILL'))
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const started = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { msg, url } = JSON.parse(line) as { msg: string; url?: string }
      if (msg === 'started' && url !== undefined) resolve(url)
    })
    ended.then((code) => reject(new Error(`It ended with ${code}: ${errors}`)))
  })
  return { child, ended, started, errors: () => errors }
}

/** The shell blocks of a page, in order. */
const shellBlocks = (page: string) =>
  Array.from(readFileSync(join(ROOT, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm), ([, text]) => text!)

test('whoever follows the README and docs/operations/server.md starts a run, and makes a token', async () => {
  debianProgram('curl', ['curl'])
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const [, flow] = /functions\/_flows\/support-threads\.ts`:\n\n```ts\n([\s\S]*?)```/.exec(readme)!
  const followed = new SampleProject({ 'supabase/functions/_flows/support-threads.ts': flow! })
  afterAll(() => followed.dispose())
  const port = String(await freePort())
  let operator = ''
  /** Types it into a terminal. */
  const shell = (script: string) =>
    spawn(
      'bash',
      [
        '-ec',
        `npx() { shift; exec "${process.execPath}" ${STARFLOW.join(' ')} "$@"; }\n${script.replaceAll('8787', port)}`,
      ],
      {
        cwd: followed.root,
        env: { ...process.env, STARFLOW_PORT: port, STARFLOW_API_TOKEN: operator },
      },
    )
  const output = async (script: string) => {
    const child = shell(script)
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    const [code] = await once(child, 'close')
    expect([script, code]).toEqual([script, 0])
    return text
  }
  const [begin, start, look, token] = shellBlocks('docs/operations/server.md')
  const [setToken, serve] = begin!.trim().split('\n')
  operator = (await output(`${setToken}\necho "$STARFLOW_API_TOKEN"`)).trim()
  const server = shell(serve!)
  afterAll(() => void server.kill('SIGKILL'))
  await new Promise<void>((resolve) => {
    createInterface({ input: server.stdout }).on('line', (line) => line.includes('"msg":"started"') && resolve())
  })
  const { runId, workspace } = JSON.parse(await output(start!))
  expect(workspace).toBe('shop')
  while (!(await output(look!)).includes('"status":"success"')) await pause(100)
  expect(await output(look!)).toContain(runId)
  expect(await output(token!)).toMatch(/^sft_/)
})

describe('starflow server', () => {
  test('serves the flows of the project on SQLite, and ends with 0 when it was asked to', async () => {
    const server = await startServer()
    const url = await server.started
    const created = await starflow(
      'tokens',
      'create',
      '--workspace',
      'shop',
      '--sqlite',
      `${project.root}/.starflow/runs.db`,
      '--json',
    )
    const { token } = JSON.parse(created.stdout)
    const response = await fetch(`${url}/api/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ flow: 'greetV1', input: { name: 'Ana' } }),
    })
    const run = (await response.json()) as { runId: string; workspace: string }
    expect([response.status, run.workspace]).toEqual([201, 'shop'])
    const events = await fetch(`${url}/api/runs/${run.runId}/events`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    })
    expect(await events.text()).toContain('event: run_completed')
    // A flow that waits needs no more than it does under starflow run: the secret beside the file is that of both.
    const issued = await runStarflow(project.root, ['run', '--flow', 'heldV1', '--json'])
    expect(issued.exitCode).toBe(3)
    const [wait] = (JSON.parse(issued.stdout) as { waits: { token: string }[] }).waits
    const resumed = await fetch(`${url}/api/waits/resume`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: wait!.token, payload: 'yes' }),
    })
    expect(await resumed.json()).toMatchObject({ outcome: 'accepted' })
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  })

  /** A server with a run under way whose handler never returns. */
  async function busyServer(env: Record<string, string>) {
    const server = await startServer({
      STARFLOW_SQLITE_PATH: `${project.root}/busy-${env.STARFLOW_DRAIN_TIMEOUT_MS}.db`,
      ...env,
    })
    const url = await server.started
    const headers = {
      authorization: `Bearer ${OPERATOR}`,
      'starflow-workspace': 'shop',
      'content-type': 'application/json',
    }
    await fetch(`${url}/api/runs`, { method: 'POST', headers, body: JSON.stringify({ flow: 'endlessV1' }) })
    while (((await (await fetch(`${url}/health`)).json()) as Health).runner.activeRuns === 0) await pause(50)
    return { ...server, url }
  }

  test('ends when its drain is over, also when a handler never returns', async () => {
    const { child, ended } = await busyServer({ STARFLOW_DRAIN_TIMEOUT_MS: '100' })
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })

  test('takes signals that come together for one wish, and a later one for leave to end at once', async () => {
    const { child, ended, url } = await busyServer({ STARFLOW_DRAIN_TIMEOUT_MS: '300000' })
    // A terminal and npm both send it.
    child.kill('SIGTERM')
    child.kill('SIGINT')
    while ((await fetch(`${url}/readyz`)).status !== 503) await pause(50)
    child.kill('SIGINT')
    expect(((await (await fetch(`${url}/health`)).json()) as Health).status).toBe('draining')
    while (child.exitCode === null) {
      child.kill('SIGTERM')
      await pause(100)
    }
    expect(await ended).toBe(130)
  })

  test('is refused with every problem of its environment', async () => {
    const server = await startServer({ STARFLOW_API_TOKEN: '', STARFLOW_ROLE: 'edge' })
    server.started.catch(() => {})
    expect(await server.ended).toBe(1)
    expect(server.errors()).toContain('error SF901: The configuration of the server has 2 problems.')
    expect(server.errors()).toContain('does not go with SQLite')
    expect(server.errors()).toContain('STARFLOW_API_TOKEN is required')
  })
})

describe('starflow tokens', async () => {
  const database = await testDatabase()
  const tokens = (...args: string[]) => starflow('tokens', ...args, '--database-url', database.url)

  test('makes a token, lists it without its secret, and revokes it', async () => {
    const created = await tokens('create', '--workspace', 'shop', '--name', 'ci')
    const token = created.stdout.split('\n')[0]!
    expect(token).toMatch(/^sft_[0-9a-f]{16}_[\w-]{43}$/)
    const [, tokenId, secret] = /^sft_([0-9a-f]+)_(.+)$/.exec(token)!
    const listed = await tokens('list', '--workspace', 'shop')
    expect(listed.stdout).toContain(tokenId!)
    expect(listed.stdout).not.toContain(secret!)
    expect((await tokens('revoke', tokenId!)).exitCode).toBe(0)
    const [row] =
      await database.sql`select revoked_at, secret_hash from starflow.api_tokens where token_id = ${tokenId!}`
    expect(row!.revoked_at).toBeInstanceOf(Date)
    expect(row!.secret_hash).not.toContain(secret!)
  })

  test('are listed and revoked in the file of a server too, and to look for one makes no file', async () => {
    const tokens = (...args: string[]) => starflow('tokens', ...args)
    const file = join(project.root, 'tokens.db')
    const noFile = await tokens('list', '--sqlite', file)
    expect([noFile.exitCode, noFile.stderr]).toEqual([2, expect.stringContaining('--sqlite names no file')])
    expect((await tokens('revoke', '0123456789abcdef', '--sqlite', file)).exitCode).toBe(2)
    expect(existsSync(file)).toBe(false)
    const ids: string[] = []
    for (const workspace of ['shop', 'bank']) {
      const created = await tokens('create', '--workspace', workspace, '--sqlite', file, '--json')
      ids.push((JSON.parse(created.stdout) as { tokenId: string }).tokenId)
    }
    expect((await tokens('revoke', ids[0]!, '--sqlite', file)).exitCode).toBe(0)
    const list = async (...args: string[]) =>
      (JSON.parse((await tokens('list', '--sqlite', file, '--json', ...args)).stdout) as { tokens: object[] }).tokens
    const [shop, bank] = [
      { tokenId: ids[0], workspaceId: 'shop', revokedAt: expect.any(String) },
      { tokenId: ids[1], workspaceId: 'bank', revokedAt: null },
    ]
    expect(await list()).toMatchObject([bank, shop])
    expect(await list('--workspace', 'shop')).toMatchObject([shop])
  })

  test('refuses a workspace that cannot be named, and a token that there is not', async () => {
    expect((await tokens('create', '--workspace', 'a b')).stderr).toContain('SF610')
    expect((await tokens('revoke', '0123456789abcdef')).stderr).toContain('SF912')
  })
})

test('a server goes on when the reader of its log is gone, and ends when it is told to', async () => {
  const server = await startServer()
  const url = await server.started
  server.child.stdout.destroy()
  // Each request is a line of the log.
  for (let request = 0; request < 20; request++) expect((await fetch(`${url}/health`)).status).toBe(200)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
}, 60_000)
