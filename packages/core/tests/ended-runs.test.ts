import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import type { ClaimedTask } from '../src/index.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { type StepSketch, shape } from './support/shape.ts'

const { sql } = await testDatabase()

let count = 0
const compile = (steps: Record<string, StepSketch>) =>
  CompiledFlow.compileShape(sql, `ended${++count}`, shape(steps, { baseDelay: 0, maxAttempts: 1 }))
const openAgain = async ({ runId, stepSlug }: ClaimedTask) =>
  await sql`update pgflow.step_tasks set status = 'started' where run_id = ${runId} and step_slug = ${stepSlug}`

/** A run that failed while b was worked on, and whose task of b was opened by other means. */
async function failedRun() {
  const flow = await compile({ a: {}, b: {}, c: { after: ['b'] } })
  const [runId] = await flow.start({})
  const [[a], [b]] = [await flow.claim('a'), await flow.claim('b')]
  await flow.core.settleTasks(flow.workerId, [failed(a!)])
  await openAgain(b!)
  return { flow, runId: runId!, task: b!, reason: 'already settled: run is failed' }
}

/** An open run whose step b was skipped while it was worked on, and whose task of b was opened by other means. */
async function skippedStep() {
  const flow = await compile({ a: {}, b: { map: true, whenExhausted: 'skip' }, c: { after: ['b'] } })
  const [runId] = await flow.start([1, 2])
  const [first, second] = await flow.claim('b')
  await flow.core.settleTasks(flow.workerId, [failed(first!)])
  await sql`update pgflow.step_tasks set status = 'started' where run_id = ${runId!} and step_slug = 'b' and task_index = 1`
  return { flow, runId: runId!, task: second!, reason: 'already settled: step is skipped' }
}

describe.each([
  ['a run that has failed', failedRun],
  ['a step that was skipped', skippedStep],
])('an open task of %s', (_, make) => {
  test('takes no report: the late one is refused, and starts nothing', async () => {
    const { flow, runId, task, reason } = await make()
    const before = [await flow.run(runId), await flow.steps(runId), await flow.tasks(runId)]
    for (const report of [completed(task, 'late'), failed(task)]) {
      expect(await flow.core.settleTasks(flow.workerId, [report])).toMatchObject([{ accepted: false, reason }])
    }
    expect(await flow.core.releaseTasks(flow.workerId, [{ ...task, started: false }])).toBe(0)
    expect(await flow.core.releaseTasks(flow.workerId, [{ ...task, started: true }])).toBe(0)
    expect([await flow.run(runId), await flow.steps(runId), await flow.tasks(runId)]).toEqual(before)
    expect(await flow.depth('c')).toBe(
      await sql`select from pgflow.step_tasks where run_id = ${runId} and step_slug = 'c'`.then((rows) => rows.length),
    )
  })

  test('is returned unchanged by complete_task and fail_task without a worker', async () => {
    const { runId, task } = await make()
    const row = { status: 'started', output: null, error_message: null }
    expect(await sql`select * from pgflow.complete_task(${runId}, 'b', ${task.taskIndex}, '1')`).toMatchObject([row])
    expect(await sql`select * from pgflow.fail_task(${runId}, 'b', ${task.taskIndex}, 'no')`).toMatchObject([row])
  })

  test('is no work for the recovery, the audit and the repair', async () => {
    const { flow, runId } = await make()
    await flow.age(runId, 3600)
    await sql.unsafe(`delete from pgmq.q_${flow.queue('b')}`)
    expect(await sql`select * from pgflow.liveness_audit where run_id = ${runId}`).toEqual([])
    expect(await sql`select pgflow.repair_liveness() as sent, pgflow.requeue_stalled_tasks() as requeued`).toEqual([
      { sent: 0, requeued: 0 },
    ])
  })
})

test('a retry queues such a task again, with a message, and the run ends', async () => {
  const { flow, runId } = await failedRun()
  await sql`select pgflow.retry_run(${runId})`
  expect(await sql`select * from pgflow.liveness_audit`).toEqual([])
  expect(await flow.depth('b')).toBe(1)
  await flow.drain(() => 1)
  expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { a: 1, c: 1 } })
})
