import { cpSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LocalWorkflowStateAdapter } from '@starflow/engine/adapters/local'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { starflow as starflowHere } from './support/run-starflow.ts'
import { SAMPLE_FLOWS } from './support/sample-flows.ts'
import { SampleProject } from './support/sample-project.ts'
import { endStarflowProcesses, runStarflow, startStarflow } from './support/starflow-process.ts'

let project: SampleProject

const home = process.cwd()
const DSL_SOURCES = fileURLToPath(new URL('../../dsl/src', import.meta.url))

// A process of the command line takes seconds to start where many do.
vi.setConfig({ testTimeout: 120_000 })

beforeEach(() => {
  project = new SampleProject({ 'flows.ts': SAMPLE_FLOWS })
  process.chdir(project.root)
})
afterEach(async () => {
  await endStarflowProcesses()
  process.chdir(home)
  project.dispose()
})

const starflow = (...args: string[]) => runStarflow(project.root, args)
const start = (...args: string[]) => startStarflow(project.root, args)
const run = (flow: string, ...args: string[]) => ['run', 'flows.ts', '--flow', flow, ...args]
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** What a process of its own answers with `--json`. */
async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { stdout, lines } = await starflow(...args, '--json')
  return parsed<T>(stdout, args, lines.join('\n'))
}

/** What a command answers that loads no flow. It runs in this process, which is another one than that of the run. */
async function look<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { stdout, stderr } = await starflowHere(...args, '--json')
  return parsed<T>(stdout, args, stderr)
}

function parsed<T>(stdout: string, args: readonly string[], said: string): T {
  try {
    return JSON.parse(stdout) as T
  } catch {
    throw new Error(`starflow ${args.join(' ')} said: ${stdout}${said}`)
  }
}

function ran(what: string): number[] {
  if (!existsSync(join(project.root, 'ran.txt'))) return []
  const lines = project.read('ran.txt').split('\n')
  return lines.flatMap((line) => (line.startsWith(`${what} `) ? Number(line.slice(what.length + 1)) : []))
}

async function completedElements(runId: string): Promise<number[]> {
  const adapter = await LocalWorkflowStateAdapter.open({ path: join(project.root, '.starflow/runs.db') })
  try {
    const events = await adapter.readEvents(runId)
    return events
      .flatMap(({ type, nodeId }) => (type === 'node_complete' ? (/\[(\d+)\]$/.exec(nodeId ?? '')?.[1] ?? []) : []))
      .map(Number)
  } finally {
    await adapter.close()
  }
}

const runIdOf = (line: string) => /^Run (\S+) of/.exec(line)![1]!

describe('starflow run', () => {
  test('runs a flow with nothing but SQLite, and says each step and the output', async () => {
    const { exitCode, lines } = await starflow(...run('greet', '--input', '{"name": "Ada"}'))
    expect(lines[0]).toMatch(/^Run \S{36} of greet, kept in \.starflow\/runs\.db\.$/)
    const steps = lines.filter((line) => /^[✓▸]/.test(line)).map((line) => line.replace(/ {2}\d.*/, ''))
    expect(steps).toEqual(['▸ hello  running', '✓ hello', '▸ shout  running', '✓ shout'])
    expect(lines).toContain('  hello: greeting somebody')
    expect(JSON.parse(lines.slice(lines.findIndex((line) => line.startsWith('Succeeded')) + 1).join(''))).toEqual({
      shout: 'HELLO ADA',
    })
    expect(exitCode).toBe(0)
    expect(statSync(join(project.root, '.starflow/runs.db')).mode & 0o777).toBe(0o600)
  })

  test('with --json prints the result as one object, and with --events each event before', async () => {
    expect(await json(...run('greet', '--input', '{"name": "Ada"}'))).toMatchObject({
      ...{ flow: 'greet', status: 'success', output: { shout: 'HELLO ADA' }, error: null, waits: [] },
    })
    const { stdout } = await starflow(...run('greet', '--input', '{"name": "Ada"}', '--json', '--events'))
    const parsed = stdout.split('\n').map((line) => JSON.parse(line) as { event?: { type: string }; status?: string })
    const types = parsed.map(({ event, status }) => event?.type ?? status)
    expect(types).toEqual([
      ...['run_started', 'node_start', 'node_complete', 'node_start', 'node_complete', 'run_completed', 'success'],
    ])
  })

  test('takes its input from a file, or from standard input', async () => {
    project.write('input.json', '{"name": "Grace"}')
    expect(await json(...run('greet', '--input', '@input.json'))).toMatchObject({ output: { shout: 'HELLO GRACE' } })
    const piped = await runStarflow(project.root, [...run('greet', '--input', '-'), '--json'], {
      stdin: '{"name": "Edsger"}',
    })
    expect(JSON.parse(piped.stdout)).toMatchObject({ output: { shout: 'HELLO EDSGER' } })
  })

  test('refuses an input that the schema refuses, or that is no JSON, before anything is started', async () => {
    const refused = await starflow(...run('greet', '--input', '{"name": 7}'))
    expect(refused.exitCode).toBe(1)
    expect(refused.lines.join('\n')).toContain('error SF203: The input does not fit flow "greet"')
    expect(refused.lines.join('\n')).toContain('$.name')
    const unkept = await starflow(...run('greet', '--input', String.raw`{"name": "a\u0000b"}`))
    expect(unkept.exitCode).toBe(1)
    expect(unkept.lines.join('\n')).toContain('$.name has a NUL character')
    expect(unkept.lines.join('\n')).toContain('error SF203')
    const garbled = await starflow(...run('greet', '--input', '{name: Ada}'))
    expect(garbled.exitCode).toBe(2)
    expect(garbled.lines.join('\n')).toContain('--input is not JSON')
    expect(await look('runs', 'list')).toEqual({ runs: [], next: null })
  })

  test('asks which flow is meant, and tells of a module that is not there, has none, or does not load', async () => {
    const several = await starflow('run', 'flows.ts')
    expect(several.exitCode).toBe(2)
    expect(several.lines.join('\n')).toContain('Flows here: approval, count, endless, failing, greet')
    expect((await starflow('run', 'nope.ts')).lines.join('\n')).toContain('error SF611: There is no file nope.ts')
    project.write('empty.ts', 'export const nothing = 1')
    expect((await starflow('run', 'empty.ts')).lines.join('\n')).toContain('error SF612: There is no flow in empty.ts')
    project.write('broken.ts', 'throw new Error("not today")')
    expect((await starflow('run', 'broken.ts')).lines.join('\n')).toContain('not today')
  })

  test('of a run that fails ends with exit code 1 and its error; a retry goes on from what is done', async () => {
    const { exitCode, lines } = await starflow(...run('failing'))
    expect(exitCode).toBe(1)
    expect(lines.join('\n')).toMatch(/Failed after .*: .*it is broken/)
    const runId = runIdOf(lines[0]!)
    expect(lines.join('\n')).toContain(`npx starflow runs retry ${runId}`)
    project.write('flows.ts', SAMPLE_FLOWS.replace("throw new NonRetryableError('it is broken')", "return 'mended'"))
    expect(await look('runs', 'retry', runId)).toEqual({ runId, placement: 'runner', status: 'queued' })
    expect(await json('run', 'flows.ts', '--resume', runId)).toMatchObject({ output: { finish: 'mended' } })
    expect(project.read('ran.txt')).toBe('begin\n')
  })

  test('with the same id or idempotency key is the same run', async () => {
    const id = '019b0000-0000-7000-8000-000000000001'
    const once = await json(...run('greet', '--input', '{"name": "Ada"}', '--id', id))
    expect(await json(...run('greet', '--input', '{"name": "Ben"}', '--id', id))).toEqual(once)
    const keyed = await json(...run('greet', '--input', '{"name": "Ada"}', '--idempotency-key', 'k'))
    expect(await json(...run('greet', '--input', '{"name": "Ben"}', '--idempotency-key', 'k'))).toEqual(keyed)
    expect((await look<{ runs: unknown[] }>('runs', 'list')).runs).toHaveLength(2)
  })

  test('with --memory keeps nothing', async () => {
    expect(await json(...run('greet', '--memory', '--input', '{"name": "Ada"}'))).toMatchObject({ status: 'success' })
    expect(existsSync(join(project.root, '.starflow'))).toBe(false)
  })
})

describe('a run that is interrupted', () => {
  test('by Ctrl-C ends what is under way, is given back, and goes on without repeating an element', async () => {
    const first = start(...run('count', '--input', JSON.stringify(numbers(200))))
    const runId = runIdOf(await first.line(/^Run /))
    await first.line(/^▸ each/)
    first.child.kill('SIGINT')
    expect(await first.ended).toBe(130)
    expect(first.lines.join('\n')).toContain(`npx starflow run flows.ts --resume ${runId}`)
    const done = ran('each')
    expect(done.length).toBeLessThan(200)
    expect((await completedElements(runId)).sort((a, b) => a - b)).toEqual(done.sort((a, b) => a - b))

    expect(await json('run', 'flows.ts', '--resume', runId)).toMatchObject({ output: { sum: 39_800 } })
    expect(ran('each').sort((a, b) => a - b)).toEqual(numbers(200))
  })

  test('by a second Ctrl-C ends at once', async () => {
    const first = start(...run('endless'))
    await first.line(/^▸ work/)
    first.child.kill('SIGINT')
    await first.line(/^Stopping/)
    // What comes sooner is the same wish.
    await new Promise((resolve) => setTimeout(resolve, 600))
    first.child.kill('SIGINT')
    expect(await first.ended).toBe(130)
  })

  test('by SIGKILL in the middle of a map of 1 000 goes on without repeating a completed element', async () => {
    const first = start(...run('count', '--input', JSON.stringify(numbers(1000))))
    const runId = runIdOf(await first.line(/^Run /))
    await expect.poll(() => ran('each').length, { timeout: 60_000 }).toBeGreaterThan(400)
    first.child.kill('SIGKILL')
    await first.ended
    const completed = new Set(await completedElements(runId))
    expect(completed.size).toBeGreaterThan(300)
    expect(completed.size).toBeLessThan(1000)
    const before = ran('each').length

    const heir = start('run', 'flows.ts', '--resume', runId)
    await heir.line(/^Run \S+ is held by cli@\S+, until its lease of 30 s is over/)
    expect(await heir.ended).toBe(0)
    expect(heir.lines.join('\n')).toContain('the runner cli@')
    const after = ran('each').slice(before)
    expect(after.sort((a, b) => a - b)).toEqual(numbers(1000).filter((n) => !completed.has(n)))
    expect(await look('runs', 'show', runId)).toMatchObject({
      run: { status: 'success', output: { sum: 999_000 } },
      steps: [
        { step: 'each', state: 'done', completedElements: 1000, elements: 1000 },
        { step: 'sum', state: 'done' },
      ],
    })
  })

  test('is not taken from a runner that is alive', async () => {
    const first = start(...run('endless'))
    const runId = runIdOf(await first.line(/^Run /))
    await first.line(/^▸ work/)
    const { exitCode, lines } = await starflow('run', 'flows.ts', '--resume', runId)
    expect(exitCode).toBe(1)
    expect(lines.join('\n')).toContain(`error SF641: Run ${runId} is being executed by cli@`)
  })
})

describe('a run that waits for somebody', () => {
  const waiting = run('approval', '--input', '{"text": "news"}')

  test('ends with exit code 3, is approved in another process, and goes on', async () => {
    const first = await starflow(...waiting)
    expect(first.exitCode).toBe(3)
    const runId = runIdOf(first.lines[0]!)
    expect(first.lines).toContain('Waits for approve.')
    expect(await look('waits', 'list')).toMatchObject({ waits: [{ runId, step: 'approve', dueAt: null }] })
    expect((await starflow('run', 'flows.ts', '--resume', runId)).exitCode).toBe(3)
    expect(await look('runs', 'show', runId)).toMatchObject({
      steps: [
        { step: 'draft', state: 'done' },
        { step: 'approve', state: 'waiting' },
        { step: 'publish', state: 'to come' },
      ],
      waits: [{ step: 'approve' }],
    })

    expect(await look('waits', 'approve', runId, '--payload', '{"by": "ana"}')).toMatchObject({ outcome: 'accepted' })
    expect(await look('waits', 'list')).toEqual({ waits: [] })
    expect(await json('run', 'flows.ts', '--resume', runId)).toMatchObject({
      output: { publish: 'NEWS released by ana' },
    })
    expect(project.read('ran.txt')).toBe('draft\n')
  })

  test('with --wait stays, and goes on when another process rejects it', async () => {
    const first = start(...waiting, '--wait')
    const runId = runIdOf(await first.line(/^Run /))
    await first.line(/^⏸ approve/)
    await expect
      .poll(async () => (await starflowHere('waits', 'reject', runId, '--payload', '{"by": "ben"}')).exitCode, {
        timeout: 60_000,
      })
      .toBe(0)
    expect(await first.ended).toBe(0)
    expect(first.lines.join('\n')).toContain('NEWS rejected by ben')
  })

  test('is resumed once, also with its token; the secret that signed it is its owner’s alone', async () => {
    const { runId, waits } = await json<{ runId: string; waits: { token: string }[] }>(...waiting)
    const { token } = waits[0]!
    expect(await look('waits', 'resume', token, '--payload', '{"approved": true, "by": "ida"}')).toMatchObject({
      ...{ runId, step: 'approve', outcome: 'accepted' },
    })
    expect(await look('waits', 'resume', token)).toMatchObject({ error: { code: 'SF643' } })
    expect(await look('waits', 'approve', runId)).toMatchObject({ error: { code: 'SF209' } })
    expect(await look('waits', 'resume', `${token}x`)).toMatchObject({ error: { code: 'SF207' } })
    const secret = join(project.root, '.starflow/wait-token-secret')
    expect(statSync(secret).mode & 0o777).toBe(0o600)
    const before = readFileSync(secret, 'utf8')
    await json(...waiting)
    expect(readFileSync(secret, 'utf8')).toBe(before)
  })
})

describe('starflow runs', () => {
  test('lists every run once, page by page, the newest first', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      const input = `{"name": "${name}"}`
      ids.unshift((await json<{ runId: string }>('start', 'flows.ts', '--flow', 'greet', '--input', input)).runId)
    }
    const first = await look<{ runs: { runId: string }[]; next: string }>('runs', 'list', '--limit', '2')
    const second = await look<typeof first>('runs', 'list', '--limit', '2', '--before', first.next)
    expect([...first.runs, ...second.runs].map(({ runId }) => runId)).toEqual(ids)
    expect(second.next).toBeNull()
    expect(await look('runs', 'list', '--status', 'error')).toEqual({ runs: [], next: null })
  })

  test('cancels a run under its runner, and refuses what has ended or is not there', async () => {
    const first = start(...run('endless'))
    const runId = runIdOf(await first.line(/^Run /))
    await first.line(/^▸ work/)
    expect(await look('runs', 'cancel', runId, '--reason', 'it was a mistake')).toEqual({
      ...{ runId, placement: 'runner', status: 'cancelled' },
    })
    expect(await look('runs', 'show', runId)).toMatchObject({
      run: { status: 'cancelled', cancelReason: 'it was a mistake' },
      steps: [{ step: 'work', state: 'stopped' }],
    })
    const watched = await starflowHere('runs', 'watch', runId)
    expect(watched.stdout + watched.stderr).toContain('It was cancelled: it was a mistake')
    expect(watched.exitCode).toBe(1)
    const again = await starflow('start', 'flows.ts', '--flow', 'endless', '--id', runId)
    expect([again.exitCode, again.lines.join('\n')]).toEqual([1, expect.stringContaining('The run was cancelled.')])
    expect(await look('runs', 'cancel', runId)).toMatchObject({
      error: { code: 'SF642', fields: { status: 'cancelled' } },
    })
    const unknown = '019b0000-0000-7000-8000-00000000dead'
    for (const command of ['show', 'cancel', 'retry', 'watch']) {
      expect(await look('runs', command, unknown)).toMatchObject({ error: { code: 'SF802' } })
    }
    expect((await starflowHere('runs', 'show', 'nope')).exitCode).toBe(2)
  })

  test('a run that is cancelled while it runs ends its process with exit code 1, once its handler has ended', async () => {
    project.write(
      'heeds.ts',
      `import { once } from 'node:events'
       import { Flow } from '@starflow/dsl'
       export const heeds = new Flow({ slug: 'heeds' }).step({ slug: 'work', timeout: 3600 }, async (_, ctx) => {
         const goOn = setInterval(() => {}, 1000)
         await once(ctx.signal, 'abort')
         clearInterval(goOn)
       })`,
    )
    const running = start('run', 'heeds.ts')
    const runId = runIdOf(await running.line(/^Run /))
    await running.line(/^▸ work/)
    expect(await look('runs', 'cancel', runId)).toMatchObject({ status: 'cancelled' })
    expect(await running.ended).toBe(1)
    expect(running.lines.join('\n')).toContain('It was cancelled: cancelled from the command line')
  })

  test('watches a run of another process to its end, with its exit code', async () => {
    const { runId } = await json<{ runId: string }>('start', 'flows.ts', '--flow', 'failing')
    const watcher = start('runs', 'watch', runId)
    const runner = start('runner', 'flows.ts')
    expect(await watcher.ended).toBe(1)
    expect(watcher.lines.join('\n')).toContain('✓ begin')
    runner.child.kill('SIGTERM')
    expect(await runner.ended).toBe(0)
  })
})

describe('starflow runner', () => {
  test('claims what is queued, of its flows and pool, and drains when it is told to end', async () => {
    const mine = await json<{ runId: string }>(
      'start',
      'flows.ts',
      '--flow',
      'count',
      '--input',
      '[1,2]',
      '--pool',
      'a',
    )
    const other = await json<{ runId: string }>('start', 'flows.ts', '--flow', 'count', '--input', '[3]', '--pool', 'b')
    const runner = start('runner', 'flows.ts', '--pool', 'a', '--json')
    await runner.line(/"event":"run.ended"/)
    const long = await json<{ runId: string }>(
      'start',
      'flows.ts',
      '--flow',
      'count',
      '--input',
      JSON.stringify(numbers(300)),
    )
    await runner.line(new RegExp(`"event":"run.claimed","runId":"${long.runId}"`))
    runner.child.kill('SIGTERM')
    expect(await runner.ended).toBe(0)
    const { runs } = await look<{ runs: { runId: string; status: string }[] }>('runs', 'list')
    expect(Object.fromEntries(runs.map(({ runId, status }) => [runId, status]))).toEqual({
      ...{ [mine.runId]: 'success', [other.runId]: 'queued', [long.runId]: 'success' },
    })
  })
})

test('a flow of another library is refused with its module, one of a second copy of @starflow/dsl runs', async () => {
  project.write(
    'other.ts',
    "class OtherFlow { slug = 'orders'; stepOrder = ['pay']; getStepDefinition() {} }\nexport const orders = new OtherFlow()\n",
  )
  const refused = await starflow('run', 'other.ts')
  expect(refused.exitCode).toBe(1)
  expect(refused.lines.join('\n')).toContain(
    'other.ts exports a flow that the Flow class of @starflow/dsl did not make: "orders".',
  )
  cpSync(DSL_SOURCES, join(project.root, 'copy'), { recursive: true })
  project.write(
    'copied.ts',
    "import { Flow } from './copy/index.ts'\nexport const theirs = new Flow({ slug: 'theirs' }).step({ slug: 'one' }, () => 1)\n",
  )
  expect(await json('run', 'copied.ts')).toMatchObject({ output: { one: 1 } })
})
