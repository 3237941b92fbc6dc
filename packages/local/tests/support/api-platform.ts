import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll } from 'vitest'
import WebSocket from 'ws'
import { signToken } from '../../src/access/json-web-token.ts'
import { createLocalPlatform, type LocalPlatform } from '../../src/platform/local-platform.ts'
import { FIXTURE_SQL } from '../supabase-js/platform-fixture.ts'
import type { CheckContext } from '../supabase-js/supabase-check.ts'

export interface ApiPlatform {
  readonly platform: LocalPlatform
  readonly context: CheckContext
  /** A token of this project: valid for an hour, unless the claims say otherwise. */
  tokenOf(claims: Readonly<Record<string, unknown>>): string
}

/** Starts a platform with the fixture at the top of a test file; it ends with the file's tests. */
export async function startApiPlatform(): Promise<ApiPlatform> {
  const folder = mkdtempSync(join(tmpdir(), 'starflow-test-api-'))
  const platform = await createLocalPlatform({
    dataDir: join(folder, 'data'),
    postgres: { fsync: false, cacheDir: join(tmpdir(), 'starflow-test-postgres') },
    migrations: [{ name: '20260101000000_fixture', sql: FIXTURE_SQL }],
    api: { schemas: ['public', 'shop'] },
  })
  const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => {} })
  afterAll(async () => {
    await sql.end({ timeout: 1 })
    await platform.dispose()
    rmSync(folder, { recursive: true, force: true })
  })
  const tokenOf = (claims: Readonly<Record<string, unknown>>) =>
    signToken({ exp: Math.floor(Date.now() / 1000) + 3600, ...claims }, platform.jwtSecret)
  const userId = '5f0f1d3a-4b1c-4c49-9d5f-0a6a8c7b1e11'
  return {
    platform,
    tokenOf,
    context: {
      url: platform.apiUrl,
      anonKey: platform.anonKey,
      serviceRoleKey: platform.serviceRoleKey,
      publishableKey: platform.publishableKey,
      secretKey: platform.secretKey,
      userId,
      userToken: tokenOf({ role: 'authenticated', sub: userId }),
      otherToken: tokenOf({ role: 'authenticated', sub: '00000000-0000-4000-8000-000000000002' }),
      sql: (text) => sql.unsafe(text).simple(),
      transport: WebSocket,
    },
  }
}
