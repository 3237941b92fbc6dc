import { afterAll, inject } from 'vitest'
import { type TestDatabase, testDatabase } from '../../../../tests/support/test-database.ts'
import { DATABASE_PLACEHOLDER } from '../../../../tests/support/test-server.ts'
import { deriveApiKeys } from '../../src/access/api-keys.ts'
import { signToken, type TokenClaims } from '../../src/access/json-web-token.ts'
import { Gateway } from '../../src/platform/gateway.ts'
import { RealtimeService } from '../../src/realtime/realtime-service.ts'
import { type ApiSettings, DEFAULT_API_SETTINGS } from '../../src/rest/api-settings.ts'
import { RestService } from '../../src/rest/rest-service.ts'
import { FIXTURE_SQL } from '../supabase-js/platform-fixture.ts'

export const USER_ID = '5f0f1d3a-4b1c-4c49-9d5f-0a6a8c7b1e11'

/** The keys of these tests. */
export const KEYS = deriveApiKeys({
  jwtSecret: 'a secret that only these tests know',
  issuedAt: Math.floor(Date.now() / 1000),
})

/** Valid for an hour, unless the claims say otherwise. */
export function tokenOf(claims: TokenClaims = { role: 'authenticated', sub: USER_ID }): string {
  return signToken({ exp: Math.floor(Date.now() / 1000) + 3600, ...claims }, KEYS.jwtSecret)
}

/** A database with the fixture, for one test file. */
export async function fixtureDatabase(): Promise<TestDatabase> {
  const database = await testDatabase({ template: 'platform' })
  await database.sql.unsafe(FIXTURE_SQL).simple()
  return database
}

/** A gateway with the REST API and Realtime on a database. Stop it where the file does not go on using it. */
export async function startApiGateway(
  { name }: Pick<TestDatabase, 'name'>,
  settings: Partial<ApiSettings> = {},
  requestedPort = 0,
) {
  const { urls } = inject('testServer')
  const rest = new RestService({
    databaseUrl: urls.authenticator.replace(DATABASE_PLACEHOLDER, name),
    keys: KEYS,
    settings: { ...DEFAULT_API_SETTINGS, schemas: ['public', 'shop'], ...settings },
  })
  const realtime = new RealtimeService({
    databaseUrl: urls.supabase_admin.replace(DATABASE_PLACEHOLDER, name),
    keys: KEYS,
  })
  const gateway = new Gateway({
    functions: () => undefined,
    health: () => ({ status: 'ok' }),
    services: [rest, realtime],
  })
  const port = await gateway.start(requestedPort)
  const url = `http://127.0.0.1:${port}`
  return { gateway, rest, realtime, port, url, request: requester(url) }
}

/** The same, to the end of the file. */
export async function apiGatewayOfFile(database: TestDatabase, settings: Partial<ApiSettings> = {}) {
  const api = await startApiGateway(database, settings)
  afterAll(() => api.gateway.stop())
  return api
}

interface RestCall {
  readonly key?: string
  readonly token?: string
  readonly schema?: string
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What an answer of the REST API holds. */
export interface RestAnswerSeen {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it asked for
  readonly json: any
}

function requester(url: string) {
  return async (path: string, call: RestCall = {}): Promise<RestAnswerSeen> => {
    const { key = KEYS.secretKey, token, schema = 'shop', method = 'GET', body, headers } = call
    const response = await fetch(`${url}/rest/v1/${path}`, {
      method,
      headers: {
        apikey: key,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        'accept-profile': schema,
        'content-profile': schema,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== ''
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
  }
}
