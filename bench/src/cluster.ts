import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cloneDatabase, dropDatabase, type PostgresServer, preparePlatform, startPostgres } from '@starflow/local'
import postgres, { type Sql } from 'postgres'
import { readSchemaFiles } from '../../scripts/schema-files.ts'

export type Template = 'starflow' | 'empty'

const SETTINGS = {
  max_connections: 200,
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  // No checkpoint may fall into one system's round and not into another's.
  checkpoint_timeout: '1h',
}

const CONNECTIONS_END_MS = 3000
const POLL_MS = 20

/** The one Postgres that everything is measured on: fsync on, a fresh database for each session. */
export class BenchCluster {
  readonly server: PostgresServer
  readonly #folder: string
  #made = 0

  private constructor(server: PostgresServer, folder: string) {
    this.server = server
    this.#folder = folder
    process.once('exit', this.#endWithProcess)
  }

  static async start(settings: Record<string, string | number> = {}): Promise<BenchCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'starflow-bench-'))
    try {
      const server = await startPostgres({ dataDir: join(folder, 'data'), settings: { ...SETTINGS, ...settings } })
      const cluster = new BenchCluster(server, folder)
      await cluster.#makeTemplates()
      return cluster
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  /** A new database, owned by `postgres`. */
  async create(template: Template): Promise<string> {
    const name = `bench_${++this.#made}`
    await cloneDatabase(this.server, { template: `template_${template}`, name })
    return name
  }

  /** Waits a little for connections that are just ending: some pools take it badly when the server ends them. */
  async drop(database: string): Promise<void> {
    const sql = this.superuser('template1')
    const deadline = performance.now() + CONNECTIONS_END_MS
    while (performance.now() < deadline) {
      const open = await sql`select from pg_stat_activity where datname = ${database}`
      if (open.length === 0) break
      await delay(POLL_MS)
    }
    await sql.end()
    await dropDatabase(this.server, database)
  }

  /** The URL of role `postgres`, which is no superuser. */
  url(database: string): string {
    return this.server.url({ database })
  }

  connect(database: string, options: { max?: number; prepare?: boolean } = {}): Sql {
    return postgres(this.url(database), { max: 1, onnotice: () => {}, ...options })
  }

  /** For looking behind the scenes. */
  superuser(database: string): Sql {
    return postgres(this.server.url({ role: 'supabase_admin', database }), { max: 1, onnotice: () => {} })
  }

  async stop(): Promise<void> {
    await this.server.stop()
    process.off('exit', this.#endWithProcess)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** A bench that fails or is interrupted leaves nothing behind either. */
  readonly #endWithProcess = () => {
    try {
      process.kill(this.server.pid, 'SIGQUIT')
    } catch {
      // It has ended by itself.
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #makeTemplates(): Promise<void> {
    const admin = this.superuser('template1')
    await admin`create database template_empty`
    await admin`create database template_starflow`.finally(() => admin.end())
    await preparePlatform(this.server, 'template_empty')
    await preparePlatform(this.server, 'template_starflow')
    const sql = this.connect('template_starflow')
    try {
      for (const file of readSchemaFiles()) await sql.unsafe(file.sql).simple()
    } finally {
      await sql.end()
    }
  }
}
