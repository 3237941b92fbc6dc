import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { STARFLOW } from '../../../../tests/support/compiled.ts'

/** What decides where runs are kept: a test says it itself. */
const STORE_VARIABLES = /^(SUPABASE_|STARFLOW_|DATABASE_URL$|npm_command$)/

export interface StarflowProcess {
  readonly child: ChildProcess
  /** What it has said so far, on both streams. */
  readonly lines: readonly string[]
  /** What it has said on standard output. */
  readonly stdout: readonly string[]
  /** The first line that matches, said already or later; rejects when the process ends without one. */
  line(pattern: RegExp): Promise<string>
  /** Its exit code once it has ended and all of its lines are there; null after a signal. */
  readonly ended: Promise<number | null>
}

const running = new Set<StarflowProcess>()

/** Starts `starflow` as a process of its own in a folder, with no store in its environment but what is given. */
export function startStarflow(
  cwd: string,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: string } = {},
): StarflowProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !STORE_VARIABLES.test(name))
  const env = { ...Object.fromEntries(inherited), ...options.env }
  const child = spawn(process.execPath, [...STARFLOW, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(options.stdin ?? '')
  const lines: string[] = []
  const stdout: string[] = []
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const each of waiting) each()
    waiting.clear()
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    stdout.push(line)
    lines.push(line)
    wake()
  })
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line)
    wake()
  })
  let hasEnded = false
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      hasEnded = true
      running.delete(started)
      wake()
      resolve(code)
    })
  })
  const started: StarflowProcess = {
    ...{ child, lines, stdout, ended },
    async line(pattern) {
      for (;;) {
        const found = lines.find((line) => pattern.test(line))
        if (found !== undefined) return found
        if (hasEnded) throw new Error(`starflow ended without a line like ${pattern}:\n${lines.join('\n')}`)
        await new Promise<void>((resolve) => waiting.add(resolve))
      }
    },
  }
  running.add(started)
  return started
}

/** Runs it to its end. */
export async function runStarflow(
  ...args: Parameters<typeof startStarflow>
): Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly lines: readonly string[] }> {
  const { ended, stdout, lines } = startStarflow(...args)
  const exitCode = await ended
  return { exitCode, stdout: stdout.join('\n'), lines }
}

/** Ends those of a test that are still there. */
export async function endStarflowProcesses(): Promise<void> {
  for (const { child, ended } of [...running]) {
    child.kill('SIGKILL')
    await ended
  }
}
