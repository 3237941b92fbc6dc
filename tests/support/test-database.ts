import { randomUUID } from 'node:crypto'
import { cloneDatabase, dropDatabase, type LoginRole, type PostgresMajor } from '@starflow/local'
import postgres, { type Sql } from 'postgres'
import { afterAll, inject } from 'vitest'
import { DATABASE_PLACEHOLDER, type TemplateName } from './test-server.ts'

/** A role that code runs as in a project. `supabase_admin` is the superuser: only for looking behind the scenes. */
export type TestRole = 'postgres' | 'service_role' | 'authenticated' | 'anon' | 'supabase_admin'

export interface TestDatabase {
  readonly name: string
  /** Connection URL of role `postgres`, which is not a superuser; through the pooler, where the tests run with one. */
  readonly url: string
  /** Postgres's major version. */
  readonly major: PostgresMajor
  /** As role `postgres`, the way migrations and workers connect. */
  readonly sql: Sql
  /**
   * A client as another role, closed with the database. `connections: 1` keeps session state, `claims` is what PostgREST
   * would put into request.jwt.claims.
   */
  as(role: TestRole, options?: { connections?: number; claims?: Record<string, unknown> }): Sql
  /** A new client as `postgres`, for tests that need connections of their own. */
  connect(options?: { connections?: number; settings?: Record<string, string> }): Sql
  /** Drops the database. Done by itself after the file's tests; twice is fine. */
  dispose(): Promise<void>
}

/**
 * Clones a database for one test file. Call it at the top of the file, so that it is dropped after the file's last test:
 *
 *     const database = await testDatabase()
 *
 * `template: 'platform'` gives Supabase's roles and schemas without the SQL core.
 */
export async function testDatabase(options: { template?: TemplateName } = {}): Promise<TestDatabase> {
  const { template = 'starflow' } = options
  const server = inject('testServer')
  const broken = server.broken[template]
  if (broken !== undefined) throw new Error(broken)
  const name = `test_${randomUUID().replaceAll('-', '').slice(0, 16)}`
  const url = ({ role = 'postgres', database = 'postgres' }: { role?: LoginRole; database?: string } = {}) =>
    server.urls[role].replace(DATABASE_PLACEHOLDER, database)
  await cloneDatabase({ url }, { template, name })

  const clients: Sql[] = []
  const connect = (role: LoginRole, connections: number, settings: Record<string, string> = {}): Sql => {
    const client = postgres(url({ role, database: name }), {
      max: connections,
      onnotice: () => {},
      // The tests' own reading is not what they are about.
      connection: { application_name: 'starflow tests', datestyle: 'ISO', intervalstyle: 'postgres', ...settings },
    })
    clients.push(client)
    return client
  }
  let disposal: Promise<void> | undefined
  const dispose = () => {
    disposal ??= Promise.all(clients.map((client) => client.end({ timeout: 1 }))).then(() =>
      dropDatabase({ url }, name),
    )
    return disposal
  }
  afterAll(dispose)
  return {
    name,
    url: server.pooledUrl?.replace(DATABASE_PLACEHOLDER, name) ?? url({ database: name }),
    major: server.major,
    sql: connect('postgres', 10),
    as: (role, { connections = 2, claims } = {}) => {
      const settings: Record<string, string> =
        claims === undefined ? {} : { 'request.jwt.claims': JSON.stringify(claims) }
      if (role === 'postgres' || role === 'supabase_admin') return connect(role, connections, settings)
      return connect('authenticator', connections, { ...settings, role })
    },
    connect: ({ connections = 1, settings } = {}) => connect('postgres', connections, settings),
    dispose,
  }
}
