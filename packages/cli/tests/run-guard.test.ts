import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { SampleProject } from './support/sample-project.ts'

const BIN = fileURLToPath(new URL('../bin/starflow.mjs', import.meta.url))
const FLOWS = `
import { Flow } from '@starflow/dsl'
export const blocks = new Flow<{ name: string }>({ slug: 'blocks', timeout: 120, maxAttempts: 1 })
  .step({ slug: 'loop' }, () => { process.stderr.write('looping\\n'); for (;;); })
export const hurried = new Flow<{ name: string }>({ slug: 'hurried', timeout: 1, maxAttempts: 1 })
  .step({ slug: 'loop' }, () => { for (;;); })
export const sleeps = new Flow<{ name: string }>({ slug: 'sleeps' })
  .step({ slug: 'sleep' }, (_, ctx) => {
    process.stderr.write('sleeping\\n')
    setTimeout(() => {}, 50_000)
    return new Promise((resolve) => ctx.shutdownSignal.addEventListener('abort', () => resolve(null)))
  })
  .step({ slug: 'after', dependsOn: ['sleep'] }, () => 1)
export const leaves = new Flow<{ name: string }>({ slug: 'leaves', timeout: 1 })
  .step({ slug: 'work' }, () => {
    process.once('exit', () => { for (const until = Date.now() + 6000; Date.now() < until; ); })
    return 'worked'
  })
export const greet = new Flow<{ name: string }>({ slug: 'greet' }).step({ slug: 'say' }, ({ name }) => 'hello ' + name)
`

let project: SampleProject
const children = new Set<ChildProcess>()
beforeAll(() => {
  project = new SampleProject({ 'flows.ts': FLOWS })
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
})
afterAll(() => project.dispose())

function run(flow: string, ...options: readonly string[]) {
  const { npm_command: _, ...outer } = process.env
  const env = { ...outer, SUPABASE_URL: '', STARFLOW_SQLITE_PATH: join(project.root, 'runs.db') }
  const args = [BIN, 'run', 'flows.ts', '--flow', flow, '--input', '{"name": "you"}', ...options]
  const child = spawn(process.execPath, args, { cwd: project.root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
  const said = (text: string) =>
    vi.waitUntil(() => output.includes(text) || child.exitCode !== null, { timeout: 60_000, interval: 20 })
  return { child, ended, said }
}

const statOf = (pid: number) =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')

const childrenOf = (parent: number) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(statOf(pid)[1]) === parent
      } catch {
        return false
      }
    })

function isAlive(pid: number): boolean {
  try {
    return statOf(pid)[0] !== 'Z'
  } catch {
    return false
  }
}

describe('a handler that never yields under starflow run', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('is ended by %s', async (signal) => {
    const { child, ended, said } = run('blocks')
    await said('looping')
    child.kill(signal)
    const { code, output } = await ended
    expect(code, output).toBe(130)
    expect(output).toMatch(/A handler has not yielded for \d+ s, and its process is ended\./)
    expect(output).toMatch(/npx starflow run --resume [0-9a-f-]{36}/)
  })

  test('is ended by the timeout of its step', async () => {
    const { code, output } = await run('hurried').ended
    expect(code, output).toBe(1)
    expect(output).toContain('A handler has not yielded for')
  })

  test('in memory takes its run with it, and nothing says that the run can go on', async () => {
    const { code, output } = await run('hurried', '--memory').ended
    expect(code, output).toBe(1)
    expect(output).toContain('Its run was kept in memory only, and is gone.')
    expect(output).not.toContain('--resume')
  })
})

describe('a run that yields', () => {
  test('is not touched, and its exit code and output are its own', async () => {
    const { code, output } = await run('greet').ended
    expect(code, output).toBe(0)
    expect(output).toContain('hello you')
  })

  test('may take its time to leave once it has ended', async () => {
    const { code, output } = await run('leaves').ended
    expect(code, output).toBe(0)
    expect(output).toContain('worked')
    expect(output).not.toContain('has not yielded')
  })

  test('gets the signal, and gives its run back by itself', async () => {
    const { child, ended, said } = run('sleeps')
    await said('sleeping')
    child.kill('SIGINT')
    const { code, output } = await ended
    expect(code, output).toBe(130)
    expect(output).toContain('Stopping …')
    expect(output).not.toContain('has not yielded')
  })

  test('ends with the process that watches it, killed even', async () => {
    const { child, said } = run('sleeps')
    await said('sleeping')
    const [guarded] = childrenOf(child.pid!)
    child.kill('SIGKILL')
    await vi.waitUntil(() => !isAlive(guarded!), { timeout: 60_000, interval: 50 })
  })
})
