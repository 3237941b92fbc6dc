import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, inject } from 'vitest'
import { loadApiKeys } from '../../packages/local/src/access/api-keys.ts'
import { Gateway } from '../../packages/local/src/platform/gateway.ts'
import { RestService } from '../../packages/local/src/rest/rest-service.ts'
import type { TestDatabase } from './test-database.ts'
import { DATABASE_PLACEHOLDER } from './test-server.ts'

/** Where a test database is reached over REST, as a Supabase project is. */
export interface RestGateway {
  readonly supabaseUrl: string
  readonly serviceRoleKey: string
  readonly anonKey: string
}

/** `/rest/v1` of a test database. Call it at the top of the file; it ends with the file's tests. */
export async function restGateway(database: TestDatabase, schemas: readonly string[]): Promise<RestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'starflow-test-keys-'))
  const keys = loadApiKeys(join(folder, 'secret'), Date.now())
  const databaseUrl = inject('testServer').urls.authenticator.replace(DATABASE_PLACEHOLDER, database.name)
  const service = new RestService({
    databaseUrl,
    keys,
    settings: { schemas, extraSearchPath: ['public'], maxRows: 1000 },
  })
  const gateway = new Gateway({ functions: () => undefined, health: () => ({}), services: [service] })
  const port = await gateway.start()
  afterAll(async () => {
    await gateway.stop()
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return { supabaseUrl: `http://127.0.0.1:${port}`, serviceRoleKey: keys.serviceRoleKey, anonKey: keys.anonKey }
}
