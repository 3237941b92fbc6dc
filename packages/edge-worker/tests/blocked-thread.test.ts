import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { StarflowSql } from '@starflow/core'
import { Flow } from '@starflow/dsl'
import { afterEach, expect, test } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type RunningFunction, workerFunctionOn } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
await sql`create table public.handled (run_id uuid)`

const children: ChildProcess[] = []
let other: RunningFunction | undefined
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await other?.stop()
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

const isLive = async () =>
  (await sql`select from pgflow.workers w where function_name = 'blocking' and pgflow._heartbeat_is_fresh(w)`).length >
  0
const taskOf = async (runId: string) =>
  (await sql`select status, attempts_count, output from pgflow.step_tasks where run_id = ${runId}`)[0]!

test('a handler that keeps the thread for 15 s is missed as live, loses nothing and is accepted once', async () => {
  const program = fileURLToPath(new URL('./support/blocking-worker.ts', import.meta.url))
  children.push(
    spawn(process.execPath, [...COMPILED, program, url, 'blocking'], { stdio: ['pipe', 'ignore', 'inherit'] }),
  )
  await until(isLive)
  const [blocking] = await core.startFlows('blocking', [{ blockMs: 15_000 }])
  await until(async () => (await taskOf(blocking!)).status === 'started')

  const takenOver: string[] = []
  const flow = new Flow<{ blockMs: number }>({ slug: 'blocking', timeout: 20 }).step(
    { slug: 'work' },
    (_input, ctx) => {
      takenOver.push(ctx.stepTask.run_id)
      return 'by another'
    },
  )
  other = workerFunctionOn(url, flow)
  await other.ask()
  const [meanwhile] = await core.startFlows('blocking', [{ blockMs: 0 }])

  // Its successor would be pinged now; the task stays its own until the recovery boundary.
  await until(async () => !(await isLive()))
  expect(await taskOf(blocking!)).toMatchObject({ status: 'started', attempts_count: 1 })
  await until(async () => (await taskOf(blocking!)).status === 'completed')
  expect(await taskOf(blocking!)).toMatchObject({ status: 'completed', attempts_count: 1, output: 'done' })
  expect(takenOver).toEqual([meanwhile])
  expect(await sql`select run_id from public.handled`).toEqual([{ run_id: blocking }])
  await until(isLive)
})
