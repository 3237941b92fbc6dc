import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { resolveDenoBinary } from '@starflow/local'
import { STARFLOW } from '../../tests/support/compiled.ts'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

const BIN = `${REPOSITORY}/e2e/node_modules/.bin`

/** The two lines of Deno that functions must run on: the one of this repository, and that of hosted functions. */
export const DENO_BINARIES = {
  '2.9': resolveDenoBinary(),
  '2.1': `${REPOSITORY}/e2e/node_modules/deno-2-1-linux-x64/deno`,
} as const

/** Bun, in which worker programs run too. */
export const BUN_BINARY = `${REPOSITORY}/e2e/node_modules/bun-linux-x64/bin/bun`

export interface Ended {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `starflow` with the Supabase CLI in its PATH, in the repository's own project. */
export async function starflow(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return run(process.execPath, [...STARFLOW, ...args], env)
}

/** Runs the Supabase CLI. */
export async function supabase(args: readonly string[], env: Record<string, string>, cwd = REPOSITORY): Promise<Ended> {
  return run(`${BIN}/supabase`, args, env, cwd)
}

async function run(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  cwd = REPOSITORY,
): Promise<Ended> {
  const { DATABASE_URL: _, ...inherited } = process.env
  const child = spawn(program, args, {
    cwd,
    env: { ...inherited, SUPABASE_TELEMETRY_DISABLED: '1', PATH: `${BIN}:${process.env.PATH}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => resolve({ exitCode, ...output }))
  })
}
