import type { TestProject } from 'vitest/node'
import { DATABASE_PLACEHOLDER, requestedMajor, startTestServer } from '../../tests/support/test-server.ts'
import { startPgbouncer } from './pgbouncer.ts'

/** As tests/support/global-setup.ts, with a transaction pooler in front: `testDatabase().url` leads through it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { testServer, stop } = await startTestServer(requestedMajor())
  try {
    const target = new URL(testServer.urls.postgres)
    const pooler = await startPgbouncer({
      port: Number(target.port),
      user: 'postgres',
      password: decodeURIComponent(target.password),
    })
    const pooledUrl = `postgres://postgres@127.0.0.1:${pooler.port}/${DATABASE_PLACEHOLDER}?pgbouncer=true`
    project.provide('testServer', { ...testServer, pooledUrl })
    return async () => {
      await pooler.stop()
      await stop()
    }
  } catch (error) {
    await stop()
    throw error
  }
}
