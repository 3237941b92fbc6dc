import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardFiles } from '@starflow/dashboard'
import { isStarflowError } from '@starflow/errors'
import type { LocalPlatform } from '@starflow/local'
import type { RunningServer } from '@starflow/server'

export interface LocalDashboardOptions {
  /** The data folder of the platform, where the token of this dashboard and its last port are kept. */
  readonly dataDir: string
  readonly platform: Pick<LocalPlatform, 'apiUrl' | 'databaseUrl' | 'serviceRoleKey'>
  /** A port that it has to have. Default: the one of last time, else a free one. */
  readonly port?: number | undefined
  /** Told what a person should know. */
  readonly note: (text: string) => void
}

/** The dashboard of a local platform. */
export interface LocalDashboard {
  readonly url: string
  /** A new address that signs its reader in: once, and soon. */
  signInLink(): string
  /** Twice is fine. */
  stop(): Promise<void>
}

/**
 * Serves the dashboard beside a local platform, on this computer alone. The server only shows and enqueues: the platform has the
 * workers. Its token is made once and kept in the data folder for its owner's eyes, so that a sign-in outlives a restart.
 *
 * @throws StarflowError SF915 when a port that it has to have is taken
 */
export async function startLocalDashboard(options: LocalDashboardOptions): Promise<LocalDashboard> {
  const { dataDir, port } = options
  // Built while the server starts; what fails is told to whoever opens the page.
  void dashboardFiles().catch(() => {})
  const portFile = join(dataDir, 'dashboard.json')
  const server = await startServerAt(options, port ?? lastPort(portFile) ?? 0).catch((error: unknown) => {
    if (port !== undefined || !isStarflowError(error, 'SF915')) throw error
    return startServerAt(options, 0)
  })
  writeFileSync(portFile, JSON.stringify({ port: Number(new URL(server.url).port) }))
  return {
    url: server.url,
    // The role has a dashboard.
    signInLink: () => server.signInLink()!,
    stop: () => server.drain(),
  }
}

async function startServerAt({ dataDir, platform, note }: LocalDashboardOptions, port: number): Promise<RunningServer> {
  // Only here: it brings the whole server, for which no other command should wait.
  const { startServer } = await import('@starflow/server')
  return await startServer({
    // The flows that are compiled in the database are what there is to show, as they are now.
    flows: [],
    hasTriggers: false,
    env: {
      STARFLOW_ROLE: 'edge',
      STARFLOW_HOST: '127.0.0.1',
      STARFLOW_PORT: String(port),
      STARFLOW_API_TOKEN: process.env.STARFLOW_API_TOKEN ?? keptToken(join(dataDir, 'api-token')),
      STARFLOW_QUEUE_SUBSTRATE: 'supabase',
      SUPABASE_URL: platform.apiUrl,
      SUPABASE_SERVICE_ROLE_KEY: platform.serviceRoleKey,
      SUPABASE_DB_URL: platform.databaseUrl,
    },
    log: {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: ({ requestId }, message) =>
        note(`dashboard: ${message}${requestId === undefined ? '' : ` (request ${requestId})`}`),
    },
  })
}

function keptToken(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    const token = randomBytes(32).toString('base64url')
    writeFileSync(file, token, { mode: 0o600, flag: 'wx' })
    return token
  }
}

function lastPort(file: string): number | undefined {
  try {
    const { port } = JSON.parse(readFileSync(file, 'utf8')) as { port?: unknown }
    return Number.isInteger(port) ? (port as number) : undefined
  } catch {
    return undefined
  }
}
