import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { STARFLOW } from '../../../tests/support/compiled.ts'
import { SampleProject } from './support/sample-project.ts'

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url))
const FLOW = `
import { Flow } from '@starflow/dsl'
export const greet = new Flow<{ name: string }>({ slug: 'greet' }).step({ slug: 'say' }, ({ name }) => 'hello ' + name)
`

const project = new SampleProject({
  'supabase/functions/_flows/greet.ts': FLOW,
  // As npx runs it: in a shell that passes no signal on.
  'package.json': JSON.stringify({
    name: 'sample',
    private: true,
    type: 'module',
    scripts: { dev: `node ${REPOSITORY}packages/cli/bin/starflow.mjs dev; exit $?` },
  }),
})
const children = new Set<ChildProcess>()
let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'starflow-interruption-'))
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of [project.root, dataDir]) {
    for (const { pid } of processesOf(folder)) process.kill(pid, 'SIGQUIT')
  }
  project.dispose()
  rmSync(dataDir, { recursive: true, force: true })
})

const commands = {
  'starflow dev': {
    folder: () => project.root,
    args: () => ['dev'],
    npmArgs: () => ['run', 'dev'],
    cwd: () => project.root,
    isUp: 'Ready in',
  },
  'starflow demo': {
    folder: () => dataDir,
    args: () => ['demo', '--limit', '200', '--data-dir', dataDir],
    npmArgs: () => ['run', 'demo', '--', '--limit', '200', '--data-dir', dataDir],
    cwd: () => REPOSITORY,
    isUp: 'queued/in flight/done',
  },
}

describe.each(Object.entries(commands))('%s leaves nothing behind', (_name, { folder, args, npmArgs, cwd, isUp }) => {
  const start = () => startCommand(process.execPath, [...STARFLOW, ...args()], cwd())

  test.each([
    ['two Ctrl-C within a tenth of a second', ['SIGINT', 'SIGINT'], 100],
    ['two Ctrl-C, the second meant to force it', ['SIGINT', 'SIGINT'], 600],
    ['a closed terminal', ['SIGHUP'], 0],
  ] as const)('after %s', async (_what, signals, pauseMs) => {
    const { child, saidUntil, closed } = start()
    await saidUntil(isUp)
    expect(processesOf(folder()).length).toBeGreaterThan(0)
    for (const signal of signals) {
      child.kill(signal)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    const { code, output } = await closed
    expect(code, output).toBe(130)
    expect(output).toContain('Stopping … (Ctrl-C again to force)')
    await nothingLeft(folder())
  })

  test('after its output has no reader any longer', async () => {
    const { child, saidUntil, closed } = start()
    await saidUntil(isUp)
    child.stdout?.destroy()
    // dev is silent until something happens.
    if (args()[0] === 'dev') project.write('supabase/functions/_flows/greet.ts', `${FLOW}// edited\n`)
    const { code, output } = await closed
    expect(code, output).toBe(130)
    expect(output).not.toContain('EPIPE')
    await nothingLeft(folder())
  })

  test('after npm was told to end', async () => {
    const { child, saidUntil } = startCommand('npm', npmArgs(), cwd())
    await saidUntil(isUp)
    child.kill('SIGTERM')
    await nothingLeft(folder())
  })
})

function startCommand(command: string, args: readonly string[], cwd: string) {
  const { DATABASE_URL: _, npm_command: __, ...env } = process.env
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const closed = once(child, 'close').then(([code, signal]) => {
    children.delete(child)
    return { code: exitCodeForShell(code, signal), output }
  })
  const saidUntil = async (text: string) => {
    await vi.waitUntil(() => output.includes(text) || child.exitCode !== null, { timeout: 60_000, interval: 20 })
    expect(output).toContain(text)
  }
  return { child, saidUntil, closed }
}

/** A signal that comes while Node takes itself down meets the system's default; a shell sees the same code then. */
function exitCodeForShell(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + constants.signals[signal!]
}

/** The processes that name a folder on their command line or in their environment: the command, Postgres, isolates. */
function processesOf(folder: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const environment = readFileSync(`/proc/${name}/environ`, 'utf8')
        const isOurs = command.includes(folder) || environment.includes(folder)
        return isOurs && Number(name) !== process.pid ? [{ pid: Number(name), command }] : []
      } catch {
        return []
      }
    })
}

async function nothingLeft(folder: string): Promise<void> {
  await vi
    .waitUntil(() => processesOf(folder).length === 0, { timeout: 60_000, interval: 50 })
    .catch(() => {
      throw new Error(
        `still there: ${processesOf(folder)
          .map(({ command }) => command.slice(0, 200))
          .join('\n')}`,
      )
    })
}
