import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findPostgres, startPostgres } from '@starflow/local'

export interface DemoDatabase {
  /** As role `postgres`. */
  readonly url: string
  /** Ends the server if it was started for this. */
  close(): Promise<void>
}

/** The demo's database: the one of a demo that runs, else started on its data. Undefined where no demo has run. */
export async function openDemoDatabase(dataDir: string): Promise<DemoDatabase | undefined> {
  const folder = join(dataDir, 'postgres')
  if (!existsSync(join(folder, 'PG_VERSION'))) return undefined
  const server = findPostgres(folder) ?? (await startPostgres({ dataDir: folder }))
  return { url: server.url(), close: () => server.stop() }
}
