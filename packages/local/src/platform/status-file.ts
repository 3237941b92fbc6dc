import { rmSync, writeFileSync } from 'node:fs'
import type { ApiKeys } from '../access/api-keys.ts'

/** What a program needs to use a platform that runs: what `supabase status` shows of a local project. */
export interface PlatformStatus extends ApiKeys {
  readonly apiUrl: string
  /** As `postgres`. */
  readonly databaseUrl: string
}

/** Writes it for other programs of its owner, and gives what removes it when the platform has ended. */
export function writeStatus(file: string, status: PlatformStatus): () => Promise<void> {
  // Never for a moment open to others, whatever mode a file that a killed platform left behind has.
  rmSync(file, { force: true })
  writeFileSync(file, `${JSON.stringify(status, undefined, 2)}\n`, { mode: 0o600 })
  return async () => rmSync(file, { force: true })
}
