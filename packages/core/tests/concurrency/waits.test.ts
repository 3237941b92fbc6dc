import type { Json } from '@starflow/dsl'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from '../support/compiled-flow.ts'
import { recordEvents } from '../support/events.ts'
import { Actor } from '../support/interleaving.ts'
import { expectAllWell } from '../support/oracle.ts'
import { serverLog } from '../support/server-log.ts'
import { type StepSketch, shape } from '../support/shape.ts'
import { issueToken, resume, setWaitKey } from '../support/wait-tokens.ts'

/*
 * Each test forces one order of two connections: one holds its transaction open, the other is seen waiting, or is seen not
 * to wait. Afterwards the oracle looks at everything that all tests have left.
 */

const database = await testDatabase()
const { sql } = database

const NEVER_WAITS = { lock_timeout: '100ms' }

let count = 0
const compile = (approve: StepSketch = {}) =>
  CompiledFlow.compileShape(
    sql,
    `waitrace${++count}`,
    shape({ draft: {}, approve: { wait: true, after: ['draft'], ...approve }, publish: { after: ['approve'] } }),
  )

beforeAll(async () => {
  await recordEvents(database)
  await setWaitKey(sql)
})
afterEach(() => expectAllWell(sql, { events: true }))
afterAll(() => {
  expect(serverLog(database, 'deadlock detected')).toEqual([])
})

/** A run with its token, whose wait is open unless told otherwise. */
async function runOf(flow: CompiledFlow, { isOpen = true } = {}): Promise<{ runId: string; token: string }> {
  const [runId] = await flow.start({})
  if (isOpen) {
    const [task] = await flow.claim('draft')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])
  }
  return { runId: runId!, token: await issueToken(sql, runId!, 'approve') }
}

const makeDue = (runId: string) =>
  sql`update pgflow.waits set due_at = clock_timestamp() - interval '1 second' where run_id = ${runId}`
const resumes = (token: string, payload: Json) => (_: unknown, connection: typeof sql) =>
  resume(connection, token, payload)
const recovers = (_: unknown, connection: typeof sql) => connection`select pgflow.requeue_stalled_tasks()`
const cancels = (runId: string) => (_: unknown, connection: typeof sql) =>
  connection`select pgflow.cancel_run(${runId})`
const wait = async (runId: string) => {
  const [task] = await sql`
    select status, output from pgflow.step_tasks where run_id = ${runId} and step_slug = 'approve'`
  return task
}

describe('of two resumes at the same time', () => {
  test('the second one waits, and is answered as already resumed', async () => {
    const flow = await compile()
    const { runId, token } = await runOf(flow)
    const first = await new Actor(database).hold(resumes(token, 'first'))
    expect(first.result).toBe('accepted')
    const second = await new Actor(database).waits(resumes(token, 'second'))
    await first.commit()
    expect(await second.end).toBe('already_resumed')
    expect(await wait(runId)).toEqual({ status: 'completed', output: 'first' })
    expect(await flow.depth('publish')).toBe(1)
  })

  test('the second one counts when the first is rolled back', async () => {
    const { runId, token } = await runOf(await compile())
    const first = await new Actor(database).hold(resumes(token, 'first'))
    const second = await new Actor(database).waits(resumes(token, 'second'))
    await first.rollback()
    expect(await second.end).toBe('accepted')
    expect(await wait(runId)).toEqual({ status: 'completed', output: 'second' })
  })

  test('one is kept where the wait is not open, and the other told', async () => {
    const flow = await compile()
    const { runId, token } = await runOf(flow, { isOpen: false })
    const first = await new Actor(database).hold(resumes(token, 'first'))
    const second = await new Actor(database).waits(resumes(token, 'second'))
    await first.commit()
    expect([first.result, await second.end]).toEqual(['early', 'already_resumed'])
    const [task] = await flow.claim('draft')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])
    expect(await wait(runId)).toEqual({ status: 'completed', output: 'first' })
  })

  test('exactly one of 20 is accepted', async () => {
    const flow = await compile()
    const { runId, token } = await runOf(flow)
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, at) => resume(database.connect(), token, at)))
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'already_resumed')).toHaveLength(19)
    expect(await wait(runId)).toEqual({ status: 'completed', output: outcomes.indexOf('accepted') })
    expect(await flow.depth('publish')).toBe(1)
  })
})

describe('a resume at the moment of the timeout', () => {
  test.each(['fail', 'skip', 'skip-cascade'] as const)('that comes second is too late (%s)', async (whenExhausted) => {
    const { runId, token } = await runOf(await compile({ timeout: 60, whenExhausted }))
    await makeDue(runId)
    const recovery = await new Actor(database).hold(recovers)
    const late = await new Actor(database).waits(resumes(token, 'late'))
    await recovery.commit()
    expect(await late.end).toBe('timed_out')
    expect(await wait(runId)).toEqual({ status: 'failed', output: null })
  })

  test('that holds the run is passed over by the recovery, and counts', async () => {
    const flow = await compile({ timeout: 60 })
    const { runId, token } = await runOf(flow)
    const inTime = await new Actor(database).hold(resumes(token, 'in time'))
    // For this one the deadline has passed. It sees the wait as it was committed, and must not wait for the run.
    await sql`select pgflow.set_setting('test_clock', 'on')`
    const test_now = new Date(Date.now() + 120_000).toISOString()
    await recovers(null, new Actor(database, { ...NEVER_WAITS, 'pgflow.test_now': test_now }).sql)
    await inTime.commit()
    expect(inTime.result).toBe('accepted')
    await recovers(null, new Actor(database, { 'pgflow.test_now': test_now }).sql)
    await sql`select pgflow.set_setting('test_clock', null)`
    expect(await wait(runId)).toEqual({ status: 'completed', output: 'in time' })
    expect(await flow.depth('publish')).toBe(1)
  })

  test('that waits for a recovery which is rolled back still finds the wait due', async () => {
    const { runId, token } = await runOf(await compile({ timeout: 60, whenExhausted: 'skip' }))
    await makeDue(runId)
    const recovery = await new Actor(database).hold(recovers)
    const late = await new Actor(database).waits(resumes(token, 'late'))
    await recovery.rollback()
    expect(await late.end).toBe('timed_out')
    expect(await wait(runId)).toEqual({ status: 'failed', output: null })
  })
})

describe('a resume and a cancellation', () => {
  test('the resume that comes second is told that the run has ended', async () => {
    const { runId, token } = await runOf(await compile())
    const cancellation = await new Actor(database).hold(cancels(runId))
    const late = await new Actor(database).waits(resumes(token, 'late'))
    await cancellation.commit()
    expect(await late.end).toBe('run_ended')
    expect(await wait(runId)).toEqual({ status: 'cancelled', output: null })
  })

  test('the cancellation that comes second ends what the resume has started', async () => {
    const flow = await compile()
    const { runId, token } = await runOf(flow)
    const accepted = await new Actor(database).hold(resumes(token, 'ok'))
    const cancellation = await new Actor(database).waits(cancels(runId))
    await accepted.commit()
    await cancellation.end
    expect(await wait(runId)).toEqual({ status: 'completed', output: 'ok' })
    expect(await flow.run(runId)).toMatchObject({ status: 'cancelled' })
    expect(await flow.depth('publish')).toBe(0)
  })
})

describe('a resume and the settlement that opens its wait', () => {
  test('the resume that comes first is taken by the settlement that waited for it', async () => {
    const flow = await compile()
    const { runId, token } = await runOf(flow, { isOpen: false })
    const [task] = await flow.claim('draft')
    const early = await new Actor(database).hold(resumes(token, 'early'))
    const settlement = await new Actor(database).waits((core) => core.settleTasks(flow.workerId, [completed(task!, 1)]))
    await early.commit()
    expect([early.result, (await settlement.end)[0]!.accepted]).toEqual(['early', true])
    expect(await wait(runId)).toEqual({ status: 'completed', output: 'early' })
    expect(await flow.depth('publish')).toBe(1)
  })

  test('the resume that comes second finds the wait open', async () => {
    const flow = await compile()
    const { runId, token } = await runOf(flow, { isOpen: false })
    const [task] = await flow.claim('draft')
    const settlement = await new Actor(database).hold((core) => core.settleTasks(flow.workerId, [completed(task!, 1)]))
    const late = await new Actor(database).waits(resumes(token, 'now'))
    await settlement.commit()
    expect(await late.end).toBe('accepted')
    expect(await wait(runId)).toEqual({ status: 'completed', output: 'now' })
  })
})

test('a recovery passes over a run that somebody holds, and ends its wait the next time', async () => {
  const { runId } = await runOf(await compile({ timeout: 60, whenExhausted: 'skip' }))
  await makeDue(runId)
  const holder = await new Actor(database).hold(
    (_, connection) => connection`select from pgflow.runs where run_id = ${runId} for update`,
  )
  await recovers(null, new Actor(database, NEVER_WAITS).sql)
  expect(await wait(runId)).toEqual({ status: 'waiting', output: null })
  await holder.commit()
  await recovers(null, sql)
  expect(await wait(runId)).toEqual({ status: 'failed', output: null })
})

test('two recoveries at once end a due wait once', async () => {
  const flow = await compile({ timeout: 60, whenExhausted: 'skip' })
  const { runId } = await runOf(flow)
  await makeDue(runId)
  const first = await new Actor(database).hold(recovers)
  await recovers(null, new Actor(database, NEVER_WAITS).sql)
  await first.commit()
  expect(await wait(runId)).toEqual({ status: 'failed', output: null })
  expect(await flow.depth('publish')).toBe(1)
})

test('a deletion of the flow waits for a resume, and a resume behind it finds nothing', async () => {
  const flow = await compile()
  const { token } = await runOf(flow)
  const other = await runOf(flow)
  const accepted = await new Actor(database).hold(resumes(token, 'ok'))
  const deletion = await new Actor(database).waits(
    (_, connection) => connection`select pgflow.delete_flow_and_data(${flow.slug})`,
  )
  await accepted.commit()
  await deletion.end
  await expect(resume(sql, other.token, 'late')).rejects.toMatchObject({ code: 'SF209' })
})
