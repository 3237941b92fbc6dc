import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { COMPILED } from '../../../../tests/support/compiled.ts'

/** What a worker program works on: see worker-program-main.ts. */
export type WorkerProgramKind = 'flow' | 'failing once' | 'halting' | 'poison' | 'queue'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface WorkerProgram {
  readonly child: ChildProcess
  /** The n-th line that says this. */
  said(text: string, count?: number): Promise<string>
  readonly ended: Promise<Ended>
  readonly lines: readonly string[]
}

export interface WorkerProgramOptions {
  readonly databaseUrl: string
  readonly kind: WorkerProgramKind
  /** Of its flow or its queue, and of its function. */
  readonly name: string
  readonly env?: Record<string, string> | undefined
  /** A program that runs TypeScript, with its arguments. Default: this Node. */
  readonly runtime?: readonly [string, ...string[]]
}

const MAIN = fileURLToPath(new URL('./worker-program-main.ts', import.meta.url))

/** Starts EdgeWorker as a program of its own. Whoever starts it ends it. */
export function startWorkerProgram(options: WorkerProgramOptions): WorkerProgram {
  const { databaseUrl, kind, name, env, runtime = [process.execPath, ...COMPILED] } = options
  const [binary, ...args] = runtime
  const child = spawn(binary, [...args, MAIN, kind, name], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      STARFLOW_DB_URL: databaseUrl,
      STARFLOW_LOG_FORMAT: 'json',
      STARFLOW_FUNCTION_NAME: name,
      ...env,
    },
  })
  const lines: string[] = []
  let changed: (() => void)[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      const waiting = changed
      changed = []
      for (const wake of waiting) wake()
    })
  }
  const ended = new Promise<Ended>((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })))
  const said = async (text: string, count = 1): Promise<string> => {
    for (;;) {
      const found = lines.filter((line) => line.includes(text))[count - 1]
      if (found !== undefined) return found
      const outcome = await Promise.race([new Promise<void>((resolve) => changed.push(resolve)), ended])
      if (outcome !== undefined)
        throw new Error(`It ended (${outcome.code}) without saying ${text}:\n${lines.join('\n')}`)
    }
  }
  return { child, said, ended, lines }
}
