import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, failed } from './support/compiled-flow.ts'
import { expectAllWell } from './support/oracle.ts'
import { type StepSketch, shape } from './support/shape.ts'
import { issueToken, resume, setWaitKey } from './support/wait-tokens.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch>) => CompiledFlow.compileShape(sql, `later${++count}`, shape(steps))
/** Starts a run that many seconds from now. */
const startIn = async (flow: CompiledFlow, seconds: number, input = '{}') => {
  const [run] = await sql<{ run_id: string }[]>`
    select run_id from pgflow.start_flow(${flow.slug}, ${input}::text::jsonb, start_at => now() + make_interval(secs => ${seconds}))`
  return run!.run_id
}
const around = (seconds: number) => [
  expect.toSatisfy((hidden: number) => hidden > seconds - 5 && hidden <= seconds + 1),
]

describe('start_at', () => {
  test('keeps the first tasks from being claimed before it', async () => {
    const flow = await compile({ a: {}, b: {} })
    const runId = await startIn(flow, 600)
    expect(await flow.steps(runId)).toEqual({ a: 'started', b: 'started' })
    expect([await flow.claim('a'), await flow.claim('b')]).toEqual([[], []])
    expect(await flow.hidden('a')).toEqual(around(600))
    await expectAllWell(sql)
  })

  test('that has come lets them go', async () => {
    const flow = await compile({ a: {} })
    const runId = await startIn(flow, 600)
    await flow.reveal('a')
    await flow.drain(() => 1)
    expect((await flow.run(runId)).status).toBe('completed')
  })

  test('in the past is now', async () => {
    const flow = await compile({ a: {} })
    await startIn(flow, -600)
    expect(await flow.hidden('a')).toEqual([0])
    expect(await flow.claim('a')).toHaveLength(1)
  })

  test('holds for each element of a root map', async () => {
    const flow = await compile({ each: { map: true } })
    await startIn(flow, 600, '[1, 2]')
    expect(await flow.hidden('each')).toEqual([...around(600), ...around(600)])
  })

  test('holds for what follows a root map over nothing', async () => {
    const flow = await compile({ none: { map: true }, after: { after: ['none'] } })
    const runId = await startIn(flow, 600, '[]')
    expect(await flow.steps(runId)).toEqual({ none: 'completed', after: 'started' })
    expect(await flow.hidden('after')).toEqual(around(600))
  })

  test('holds for what follows a root step that its condition skips', async () => {
    const flow = await compile({ a: { if: { x: 1 } }, after: { after: ['a'] } })
    const runId = await startIn(flow, 600)
    expect(await flow.steps(runId)).toEqual({ a: 'skipped: condition_unmet', after: 'started' })
    expect(await flow.hidden('after')).toEqual(around(600))
  })

  test('is not waited for again by the steps that follow', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'] } })
    await startIn(flow, 600)
    await flow.reveal('a')
    await flow.drain((task) => task.stepSlug)
    expect(await flow.depth('b')).toBe(0)
  })

  test('comes before the start delay of a step', async () => {
    const flow = await compile({ a: { startDelay: 100 }, b: {} })
    await startIn(flow, 600)
    expect(await flow.hidden('a')).toEqual(around(700))
    expect(await flow.hidden('b')).toEqual(around(600))
  })

  test('of a run that is cancelled before it leaves no message', async () => {
    const flow = await compile({ a: {} })
    const runId = await startIn(flow, 600)
    await sql`select pgflow.cancel_run(${runId})`
    expect(await flow.depth('a')).toBe(0)
    await expectAllWell(sql)
  })
})

describe('what is due later still is', () => {
  const retried = async (runId: string) => {
    await sql`select pgflow.cancel_run(${runId})`
    await sql`select pgflow.retry_run(${runId})`
  }
  const repaired = async (flow: CompiledFlow, step: string) => {
    await sql.unsafe(`delete from pgmq.q_${flow.queue(step)}`)
    expect(await sql`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 1 }])
  }

  test('when its message was lost and sent again: the start of a run', async () => {
    const flow = await compile({ a: {} })
    await startIn(flow, 600)
    await repaired(flow, 'a')
    expect(await flow.hidden('a')).toEqual(around(600))
    await expectAllWell(sql)
  })

  test('when its message was lost and sent again: a step with a start delay', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'], startDelay: 600 } })
    await flow.start({})
    await flow.drain(() => 1)
    await repaired(flow, 'b')
    expect(await flow.hidden('b')).toEqual(around(600))
    await expectAllWell(sql)
  })

  test('when its message was lost and sent again: a retry, but not the attempt after it', async () => {
    const flow = await compile({ a: {} })
    await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [failed(task!, { retryDelaySeconds: 600 })])
    await repaired(flow, 'a')
    expect(await flow.hidden('a')).toEqual(around(600))
    await flow.reveal('a')
    const [again] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [failed(again!, { retryDelaySeconds: 0 })])
    await repaired(flow, 'a')
    expect(await flow.hidden('a')).toEqual([0])
    await expectAllWell(sql)
  })

  test('when its run was cancelled and retried: a start and a start delay, in whole', async () => {
    const flow = await compile({ a: { startDelay: 100 }, b: {} })
    await retried(await startIn(flow, 600))
    expect(await flow.hidden('a')).toEqual(around(700))
    expect(await flow.hidden('b')).toEqual(around(600))
    await expectAllWell(sql)
  })

  test('when its run was cancelled and retried: a retry', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [failed(task!, { retryDelaySeconds: 600 })])
    await retried(runId!)
    expect(await flow.hidden('a')).toEqual(around(600))
    await expectAllWell(sql)
  })

  test('when its run failed at its start and was retried', async () => {
    const flow = await compile({ a: { if: { x: 1 }, whenUnmet: 'fail' }, b: {} })
    const runId = await startIn(flow, 600)
    expect((await flow.run(runId)).status).toBe('failed')
    await sql`update pgflow.steps set when_unmet = 'skip' where flow_slug = ${flow.slug}`
    await sql`select pgflow.retry_run(${runId})`
    expect(await flow.steps(runId)).toEqual({ a: 'skipped: condition_unmet', b: 'started' })
    expect(await flow.hidden('b')).toEqual(around(600))
    await expectAllWell(sql)
  })

  test('when a wait before it was resumed before the start', async () => {
    await setWaitKey(sql)
    const flow = await compile({ approve: { wait: true }, a: { after: ['approve'] } })
    const runId = await startIn(flow, 600)
    expect(await resume(sql, await issueToken(sql, runId, 'approve'))).toBe('accepted')
    expect(await flow.steps(runId)).toEqual({ approve: 'completed', a: 'started' })
    expect(await flow.hidden('a')).toEqual(around(600))
    await expectAllWell(sql)
  })
})

describe('a bulk start is all or nothing', () => {
  test('when one input is no array for a root map', async () => {
    const flow = await compile({ each: { map: true } })
    await expect(sql`select pgflow.start_flows(${flow.slug}, '[[1], [2], {"no": "array"}]')`).rejects.toThrow(
      `Flow ${flow.slug} has root map steps but input is not an array (got object)`,
    )
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
    expect(await flow.depth('each')).toBe(0)
  })

  test('when a queue cannot take the messages', async () => {
    const flow = await compile({ a: {}, b: {} })
    await sql`select pgmq.drop_queue(${flow.queue('b')})`
    await expect(flow.start(1, 2, 3)).rejects.toThrow()
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
    expect(await flow.depth('a')).toBe(0)
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
  })

  test('when it takes longer than the statement timeout', async () => {
    const flow = await compile({ each: { map: true } })
    const inputs = Array.from({ length: 10 }, () => Array.from({ length: 2_000 }, (_, n) => n))
    const impatient = sql.begin(async (tx) => {
      await tx`set local statement_timeout = 20`
      await tx`select pgflow.start_flows(${flow.slug}, ${JSON.stringify(inputs)}::text::jsonb)`
    })
    await expect(impatient).rejects.toMatchObject({ code: '57014' })
    expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
    expect(await flow.depth('each')).toBe(0)
  })
})

test('a root map of 10 000 elements starts whole within the 3 s that an anonymous request has', async () => {
  const flow = await compile({ each: { map: true } })
  const input = JSON.stringify(Array.from({ length: 10_000 }, (_, n) => ({ n })))
  const limited = database.connect({ settings: { statement_timeout: '3000' } })
  const [run] = await limited<{ run_id: string }[]>`
    select run_id from pgflow.start_flow(${flow.slug}, ${input}::text::jsonb)`
  await limited.end()
  expect(await sql`select count(*)::integer from pgflow.step_tasks where run_id = ${run!.run_id}`).toEqual([
    { count: 10_000 },
  ])
  expect(await flow.depth('each')).toBe(10_000)
})
