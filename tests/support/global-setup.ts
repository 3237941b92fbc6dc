import type { TestProject } from 'vitest/node'
import { startTestServer } from './test-server.ts'

/** One embedded Postgres per test run; every test file clones a database of its own from it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { testServer, stop } = await startTestServer(requestedMajor())
  project.provide('testServer', testServer)
  return stop
}

function requestedMajor(): 15 | 17 {
  const major = process.env.PG ?? '17'
  if (major === '15' || major === '17') return major === '15' ? 15 : 17
  throw new Error(`PG=${major}: the tests run on Postgres 15 and 17.`)
}
