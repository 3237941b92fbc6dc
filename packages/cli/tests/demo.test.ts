import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STARFLOW } from '../../../tests/support/compiled.ts'
import type { DemoSummary } from '../src/demo/summary.ts'

const repository = fileURLToPath(new URL('../../../', import.meta.url))
const running = new Set<ChildProcess>()
let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'starflow-demo-'))
})
afterAll(async () => {
  await Promise.all([...running].map((child) => end(child)))
  await rm(root, { recursive: true, force: true })
})

/** The demo as a person starts it, in its own process, with a data folder of its own. */
function start(args: string[], env: Record<string, string> = {}) {
  const { DATABASE_URL: _, ...inherited } = process.env
  // Not through `npm run`: a signal must reach the very process that the test knows.
  const child = spawn(process.execPath, [...STARFLOW, 'demo', ...args], {
    cwd: repository,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  const exited = once(child, 'close').then(([code]) => {
    running.delete(child)
    return { code: code as number | null, ...output }
  })
  return { child, exited, output }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await closed
}

const run = (args: string[], env?: Record<string, string>) => start(args, env).exited
const lastLine = (text: string): unknown => JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')

/** Waits for a line of the child's standard error, and fails with all of it when the child ends first. */
async function seen(process: ReturnType<typeof start>, text: string): Promise<void> {
  let onData: () => void = () => {}
  const found = new Promise<void>((resolve) => {
    onData = () => {
      if (process.output.stderr.includes(text) || process.output.stdout.includes(text)) resolve()
    }
    process.child.stderr?.on('data', onData)
    process.child.stdout?.on('data', onData)
    onData()
  })
  const ended = process.exited.then(({ stderr }) => {
    throw new Error(`the demo ended before it said "${text}": ${stderr}`)
  })
  await Promise.race([found, ended])
}

describe('the demo', () => {
  test('indexes 20 READMEs, loses none, and can be searched afterwards and run again', async () => {
    const dataDir = join(root, 'twenty')
    const first = await run(['--limit', '20', '--json', '--data-dir', dataDir])
    expect(first.code, first.stderr).toBe(0)
    const summary = lastLine(first.stdout) as DemoSummary
    expect(summary).toMatchObject({ runs: 20, completed: 20, failed: 0, lost: 0, killed: 0 })
    expect(summary.queues.map((queue) => queue.step)).toEqual([
      ...['parse', 'links', 'checkLinks', 'keywords', 'index', 'summary', 'report'],
    ])
    const tasksOf = (step: string) => summary.queues.find((queue) => queue.step === step)!.tasks
    for (const step of ['parse', 'links', 'keywords', 'index', 'summary']) expect(tasksOf(step)).toBe(20)
    expect(tasksOf('checkLinks')).toBeGreaterThan(20)
    expect(tasksOf('report')).toBeLessThan(20)
    expect(summary.tasks).toBe(summary.queues.reduce((sum, queue) => sum + queue.tasks, 0))

    const found = await run(['search', 'function', '--json', '--limit', '3', '--data-dir', dataDir])
    expect(found.code, found.stderr).toBe(0)
    const { hits } = lastLine(found.stdout) as { hits: { rank: number; snippet: string }[] }
    expect(hits.length).toBeGreaterThan(0)
    expect(hits.length).toBeLessThanOrEqual(3)
    expect(hits.map((hit) => hit.rank)).toEqual(hits.map((hit) => hit.rank).sort((a, b) => b - a))

    const second = await run(['--limit', '20', '--json', '--data-dir', dataDir])
    expect(lastLine(second.stdout)).toMatchObject({ runs: 20, completed: 20, failed: 0, lost: 0 })
  })

  test('loses nothing while workers are killed in the middle of their work', { timeout: 420_000 }, async () => {
    const args = ['--chaos', '--limit', '100', '--json', '--data-dir', join(root, 'chaos')]
    const { code, stdout, stderr } = await run(args)
    expect(code, stderr).toBe(0)
    const summary = lastLine(stdout) as DemoSummary
    expect(summary).toMatchObject({ runs: 100, completed: 100, failed: 0, lost: 0 })
    expect(summary.killed).toBeGreaterThanOrEqual(5)
    expect(summary.extraAttempts).toBeGreaterThanOrEqual(1)
    expect(stderr).toContain('(5 so far)')
    expect(stderr).toMatch(/waiting: .* of (a )?killed workers? comes? back/)
  })

  test('a second demo beside it is refused by name, and Ctrl-C ends the first with all that it started', async () => {
    const dataDir = join(root, 'interrupted')
    const demo = start(['--json', '--data-dir', dataDir])
    await seen(demo, 'documents; queued/in flight/done')
    const second = await run(['--json', '--data-dir', dataDir])
    expect(lastLine(second.stdout)).toMatchObject({
      error: { code: 'SF507', message: expect.stringMatching(/^Another `npm run demo` \(process \d+\) is running/) },
    })
    demo.child.kill('SIGINT')
    const { code, stderr } = await demo.exited
    expect(code, stderr).toBe(130)
    expect(stderr).toContain('Stopped: Postgres and the workers have ended.')
    const search = await run(['search', 'anything', '--json', '--data-dir', dataDir])
    expect(search.stdout + search.stderr).not.toContain('SF507')
  })
})

describe('the demo refuses', () => {
  test.each([
    ['a folder that is not there', ['--docs', '/does/not/exist'], {}, 'SF601'],
    ['a limit that is no number', ['--limit', 'many'], {}, 'SF001'],
    ['a DATABASE_URL that is not its own', [], { DATABASE_URL: 'postgres://example.test/db' }, 'SF605'],
    ['words that are no command', ['serach', 'pool'], {}, 'SF610'],
    ['options that npm took', [], { npm_lifecycle_event: 'demo', npm_config_chaos: 'true' }, 'SF610'],
    ['to search for nothing', ['search', ' '], {}, 'SF610'],
    ['to search what it has not indexed', ['search', 'pool'], {}, 'SF603'],
  ])('%s, and leaves nothing behind', async (_what, args, env, code) => {
    const dataDir = join(root, `refused-${code}`)
    const refused = await run([...args, '--json', '--data-dir', dataDir], env)
    expect(refused.code).not.toBe(0)
    expect(lastLine(refused.stdout)).toMatchObject({ error: { code } })
    expect(existsSync(dataDir)).toBe(false)
  })

  test('a folder without Markdown', async () => {
    const docs = await mkdtemp(join(root, 'docs-'))
    await writeFile(join(docs, 'latin1.md'), Uint8Array.from([0x63, 0x61, 0x66, 0xe9]))
    const refused = await run(['--docs', docs, '--json'])
    expect(lastLine(refused.stdout)).toMatchObject({
      error: { code: 'SF602', detail: '1 document was skipped: 1 not UTF-8 (latin1.md)' },
    })
  })
})
