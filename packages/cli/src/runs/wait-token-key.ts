import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WaitTokenKey } from '@starflow/engine'

/** The key that signs the tokens of waits; undefined where there is none, and flows with a wait are refused. */
export type WaitTokenKeySource = () => WaitTokenKey | undefined

/** Of a project that keeps its runs in a file, beside that file. */
const SECRET_FILE = 'wait-token-secret'

/**
 * STARFLOW_WAIT_TOKEN_SECRET, else what goes with the store: beside a file a secret of its own, made when it is first needed, so
 * that a flow with a wait runs on a laptop without more ado; in memory one that ends with the process. A project that several machines
 * share has to be given one.
 */
export function readWaitTokenKey(
  env: NodeJS.ProcessEnv,
  otherwise: 'required' | 'passing' | { readonly besides: string },
): WaitTokenKeySource {
  return () => {
    const kid = env.STARFLOW_WAIT_TOKEN_KID?.trim() || 'default'
    const secret = env.STARFLOW_WAIT_TOKEN_SECRET?.trim()
    if (secret) return { kid, secret }
    if (otherwise === 'required') return undefined
    return { kid: 'local', secret: otherwise === 'passing' ? newSecret() : secretBesides(otherwise.besides) }
  }
}

function secretBesides(path: string): string {
  const file = join(dirname(path), SECRET_FILE)
  const existing = readSecret(file)
  if (existing !== undefined) return existing
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // Whole or not there: of several processes that begin at once, the first link is the secret of all.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${newSecret()}\n`, { mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readSecret(file) as string
}

function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function newSecret(): string {
  return randomBytes(32).toString('hex')
}
