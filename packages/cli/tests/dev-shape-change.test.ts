import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import postgres, { type Sql } from 'postgres'
import { afterAll, expect, test, vi } from 'vitest'
import { STARFLOW } from '../../../tests/support/compiled.ts'
import { SampleProject } from './support/sample-project.ts'

const FLOW_FILE = 'supabase/functions/_flows/greet.ts'
const FIRST = `
import { Flow, withStepQueues } from '@starflow/dsl'
export const greet = withStepQueues(new Flow<{ name: string }>({ slug: 'greet' })
  .step({ slug: 'say' }, ({ name }) => 'hello ' + name)
  .step({ slug: 'send', dependsOn: ['say'] }, ({ say }) => say + '!'))
`
// Another step between the two, and the last one depends on it.
const SECOND = FIRST.replace(
  ".step({ slug: 'send', dependsOn: ['say'] }, ({ say }) => say + '!')",
  `.step({ slug: 'shout', dependsOn: ['say'] }, ({ say }) => say.toUpperCase())
  .step({ slug: 'send', dependsOn: ['shout'] }, ({ shout }) => shout + '!')`,
)

const project = new SampleProject({ [FLOW_FILE]: FIRST })
let dev: ChildProcess | undefined
let sql: Sql | undefined
afterAll(async () => {
  await sql?.end()
  if (dev !== undefined && dev.exitCode === null) {
    dev.kill('SIGTERM')
    await once(dev, 'exit')
  }
  project.dispose()
})

/** A start of everything on a busy computer. */
const PATIENCE_MS = 60_000

test('another shape of a flow with live workers is compiled and runs when it is saved', async () => {
  dev = spawn(process.execPath, [...STARFLOW, 'dev', '--json'], {
    cwd: project.root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  dev.stderr?.resume()
  const lines: Record<string, unknown>[] = []
  createInterface({ input: dev.stdout! }).on('line', (line) => lines.push(JSON.parse(line)))
  const said = async (isWanted: (line: Record<string, unknown>) => boolean, from = 0): Promise<number> => {
    const find = () => lines.findIndex((line, index) => index >= from && isWanted(line))
    await vi
      .waitUntil(() => find() >= 0, { timeout: PATIENCE_MS })
      .catch(() => {
        throw new Error(`never said:\n${lines.map((line) => JSON.stringify(line)).join('\n')}`)
      })
    return find()
  }
  const worker = (event: string, queueName: string) => (line: Record<string, unknown>) =>
    line.event === 'function.log' && String(line.line).includes(event) && String(line.line).includes(queueName)

  const ready = lines[await said((line) => line.event === 'ready')]!
  sql = postgres(String(ready.databaseUrl), { max: 1 })
  const database = sql
  const outputOf = async (runId: string): Promise<unknown> => {
    const find = async () =>
      (await database`select output from pgflow.runs where run_id = ${runId} and status = 'completed'`)[0]
    return (await vi.waitUntil(find, { timeout: PATIENCE_MS })).output
  }
  const start = async () =>
    (await database<{ run_id: string }[]>`select run_id from pgflow.start_flow('greet', '{"name": "Ada"}')`)[0]!.run_id
  for (const queue of ['greet__say', 'greet__send']) await said(worker('worker.started', queue))
  expect(await outputOf(await start())).toEqual({ send: 'hello Ada!' })

  const before = lines.length
  project.write(FLOW_FILE, SECOND)
  const recompiled = await said(worker('recompiled', 'greet'), before)
  const started = await Promise.all(
    ['greet__say', 'greet__shout', 'greet__send'].map((queue) => said(worker('worker.started', queue), before)),
  )
  const runId = await start()
  expect(await outputOf(runId)).toEqual({ send: 'HELLO ADA!' })

  // No worker of the new code polls before its shape is there, and the old definition is gone with its run.
  for (const at of started) expect(at).toBeGreaterThan(recompiled)
  expect(lines.slice(before).filter((line) => worker('recompiled', 'greet')(line))).toHaveLength(1)
  expect(await database`select run_id from pgflow.runs`).toEqual([{ run_id: runId }])
})
