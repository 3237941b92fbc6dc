// A server in a process of its own, for tests that end one. Its flow tells a folder that it runs, and waits for leave to end.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process, { argv, env, exit, stdin } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { externalStep, Flow } from '@starflow/dsl'
import { startServer } from '../../src/index.ts'

const [folder] = argv.slice(2)
if (folder === undefined) throw new Error('Usage: server-process.ts FOLDER')

// The test's process may be gone without a word.
stdin.on('end', () => exit(1)).resume()

const slow = new Flow<{ name: string }>({ slug: 'slowV1' }).step({ slug: 'work' }, async ({ name }) => {
  writeFileSync(join(folder, `${name}.${env.STARFLOW_SERVICE_ID}.begun`), '')
  while (!existsSync(join(folder, `${name}.leave`))) await pause(20)
  return `done by ${env.STARFLOW_SERVICE_ID}`
})

/** An external worker does its first step. */
const press = new Flow({ slug: 'pressV1', maxAttempts: 2, baseDelay: 0 })
  .step({ slug: 'press', timeout: 120 }, externalStep<string>('press'))
  .step({ slug: 'bind', dependsOn: ['press'] }, ({ press: pressed }) => `bound ${pressed}`)

// Before the start: the test sends it as soon as the log says that the server has started.
const server = startServer({ flows: [slow, press] })
process.once('SIGTERM', () => void server.then((started) => started.drain()).then(() => exit(0)))
await server
