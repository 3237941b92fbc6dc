import type { TestProject } from 'vitest/node'
import { requestedMajor, startTestServer } from './test-server.ts'

type Started = ReturnType<typeof startTestServer>

/** This module is loaded once for each project of a run, and they share a server. */
const run = globalThis as { starflowTests?: { server: Started; users: number } }

/** One embedded Postgres per test run, where one of its files needs it; every test file clones a database of its own from it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  run.starflowTests ??= { server: startTestServer(requestedMajor()), users: 0 }
  const shared = run.starflowTests
  shared.users += 1
  const { testServer, stop } = await shared.server
  project.provide('testServer', testServer)
  return async () => {
    shared.users -= 1
    if (shared.users > 0) return
    delete run.starflowTests
    await stop()
  }
}
