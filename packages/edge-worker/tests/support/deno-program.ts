import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { resolveDenoBinary } from '@starflow/local'

export interface DenoProgram {
  readonly child: ChildProcess
  /** Asks the function, as a ping does. */
  ask(): Promise<Record<string, unknown>>
  /** The first line that says this, past or to come. */
  line(pattern: RegExp): Promise<string>
  tell(text: string): void
}

const MAIN = fileURLToPath(new URL('./deno-worker.ts', import.meta.url))
const PERMISSIONS = ['--allow-net', '--allow-env', '--allow-sys', '--allow-read']

/** EdgeWorker in a Deno process; see deno-worker.ts for its kinds. Whoever starts it ends it. */
export async function startDenoProgram(
  databaseUrl: string,
  kind: 'edge' | 'deno' | 'poison',
  flowSlug: string,
): Promise<DenoProgram> {
  const options = ['--no-prompt', '--cached-only', '--node-modules-dir=manual', ...PERMISSIONS]
  const child = spawn(resolveDenoBinary(), ['run', ...options, MAIN, kind, flowSlug], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, SUPABASE_DB_URL: databaseUrl, STARFLOW_AUTH_SECRET: 's3cret', DENO_NO_UPDATE_CHECK: '1' },
  })
  const lines: string[] = []
  let changed: (() => void)[] = []
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line)
      const waiting = changed
      changed = []
      for (const wake of waiting) wake()
    })
  }
  const line = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = lines.find((candidate) => pattern.test(candidate))
      if (found !== undefined) return found
      await new Promise<void>((resolve) => changed.push(resolve))
    }
  }
  const port = (await line(/^listening /)).split(' ')[1]
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/${flowSlug}_function`, { headers: { apikey: 's3cret' } })
    return { http: response.status, ...((await response.json()) as object) }
  }
  return { child, ask, line, tell: (text) => child.stdin.write(`${text}\n`) }
}
