import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { restGateway } from '../../../../tests/support/rest-gateway.ts'
import { type TestDatabase, testDatabase } from '../../../../tests/support/test-database.ts'
import { openStorage } from '../../src/adapters/open-storage.ts'
import { makeApiToken, type RunningServer, readConfig, type ServerOptions, startServer } from '../../src/index.ts'
import type { ServerLog } from '../../src/log.ts'
import { ApiClient } from './api-client.ts'
import { flows } from './flows.ts'

export const OPERATOR_TOKEN = 'operator-token-of-the-tests'
export const WAIT_SECRET = 'a secret of the tests, long enough to sign'

export type Substrate = 'sqlite' | 'supabase'

/** Where the servers of one test file keep their runs. */
export interface TestStorage {
  readonly substrate: Substrate
  readonly env: Readonly<Record<string, string>>
  /** The database behind it, of Supabase. */
  readonly database: TestDatabase | undefined
}

/** A place of its own; gone after the file's tests. */
export async function testStorage(substrate: Substrate): Promise<TestStorage> {
  if (substrate === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'starflow-server-'))
    afterAll(() => rmSync(folder, { recursive: true, force: true }))
    return { substrate, env: { STARFLOW_SQLITE_PATH: join(folder, 'runs.db') }, database: undefined }
  }
  const database = await testDatabase()
  const gateway = await restGateway(database, ['public', 'starflow'])
  return {
    substrate,
    database,
    env: {
      SUPABASE_URL: gateway.supabaseUrl,
      SUPABASE_SERVICE_ROLE_KEY: gateway.serviceRoleKey,
      SUPABASE_DB_URL: database.url,
    },
  }
}

export interface TestServer extends RunningServer {
  readonly log: readonly LogLine[]
  readonly operator: ApiClient
  readonly nobody: ApiClient
  /** A caller with a new token of a workspace. */
  workspace(name: string): Promise<ApiClient>
  /** A new token of a workspace. */
  token(workspace: string): Promise<{ token: string; tokenId: string }>
  /** As the command line does. */
  revoke(tokenId: string): Promise<void>
}

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly [field: string]: unknown
}

/** A server in this process, drained after the file's tests. */
export async function testServer(
  storage: TestStorage,
  env: Readonly<Record<string, string>> = {},
  options: Partial<ServerOptions> = {},
): Promise<TestServer> {
  const log: LogLine[] = []
  const whole = {
    ...{ STARFLOW_PORT: '0', STARFLOW_API_TOKEN: OPERATOR_TOKEN, STARFLOW_WAIT_TOKEN_SECRET: WAIT_SECRET },
    ...storage.env,
    ...env,
  }
  // A starflow.yaml of whoever tries things out in the repository is not the test's.
  const hasTriggers = 'STARFLOW_CONFIG_FILE' in whole
  const server = await startServer({
    ...{ flows, env: whole, checkAnswers: true, log: recorder(log), hasTriggers },
    ...options,
  })
  afterAll(() => server.drain())
  const token = async (workspace: string) => {
    const opened = await openStorage(readConfig(whole).storage, 'starflow tests')
    const { token, record } = makeApiToken(workspace, 'of a test')
    await opened.store.createToken(record)
    await opened.close()
    return { token, tokenId: record.tokenId }
  }
  const revoke = async (tokenId: string) => {
    const opened = await openStorage(readConfig(whole).storage, 'starflow tests')
    await opened.store.revokeToken(tokenId)
    await opened.close()
  }
  return {
    ...server,
    log,
    token,
    revoke,
    operator: new ApiClient(server.url, OPERATOR_TOKEN),
    nobody: new ApiClient(server.url, undefined),
    workspace: async (name) => new ApiClient(server.url, (await token(name)).token),
  }
}

function recorder(lines: LogLine[]): ServerLog {
  const write = (level: string) => (fields: object, message: string) => void lines.push({ ...fields, level, message })
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
