import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch> = { a: {} }) =>
  CompiledFlow.compileShape(sql, `once${++count}`, shape(steps))
const start = async (slug: string, key: string, input = '{}') =>
  (await sql`select * from pgflow.start_flow(${slug}, ${input}::text::jsonb, idempotency_key => ${key})`)[0]!

describe('an idempotency key', () => {
  test('starts one run however often it is used, with the input of the first', async () => {
    const flow = await compile()
    const first = await start(flow.slug, 'order-7', '{"n": 1}')
    const again = await start(flow.slug, 'order-7', '{"n": 2}')
    expect(again).toEqual(first)
    expect(again).toMatchObject({ input: { n: 1 }, idempotency_key: 'order-7' })
    expect(await flow.depth('a')).toBe(1)
  })

  test('is one of its flow: another flow has its own', async () => {
    const [flow, other] = [await compile(), await compile()]
    const [first, second] = [await start(flow.slug, 'same'), await start(other.slug, 'same')]
    expect(first.run_id).not.toBe(second.run_id)
  })

  test('gives the run of the first use back after that has ended too', async () => {
    const flow = await compile()
    const first = await start(flow.slug, 'done')
    await flow.drain(() => 1)
    expect(await start(flow.slug, 'done')).toMatchObject({ run_id: first.run_id, status: 'completed' })
    expect(await flow.depth('a')).toBe(0)
  })

  test('wins over a new run_id in the same call', async () => {
    const flow = await compile()
    const first = await start(flow.slug, 'k')
    const [again] = await sql`select run_id from pgflow.start_flow(${flow.slug}, '{}', ${randomUUID()}, 'k')`
    expect(again!.run_id).toBe(first.run_id)
  })

  test('of two connections at once starts one run, which both are given', async () => {
    const flow = await compile()
    const first = database.connect()
    const second = database.connect({ settings: { application_name: 'second key' } })
    let late: PromiseLike<readonly { run_id: string }[]> | undefined
    let early: string | undefined
    await first.begin(async (tx) => {
      early = (await tx`select run_id from pgflow.start_flow(${flow.slug}, '1', null, 'race')`)[0]!.run_id
      late = second<
        { run_id: string }[]
      >`select run_id from pgflow.start_flow(${flow.slug}, '2', null, 'race')`.execute()
      await untilBlocked(sql, 'second key')
    })
    expect(await late).toEqual([{ run_id: early }])
    expect(await flow.depth('a')).toBe(1)
    await Promise.all([first.end(), second.end()])
  })

  test('of a start that is rolled back is free again', async () => {
    const flow = await compile()
    const first = database.connect()
    const second = database.connect({ settings: { application_name: 'waits for a key' } })
    const undo = new Error('undo')
    let late: PromiseLike<readonly { input: number }[]> | undefined
    await first
      .begin(async (tx) => {
        await tx`select pgflow.start_flow(${flow.slug}, '1', null, 'freed')`
        late = second<
          { input: number }[]
        >`select input from pgflow.start_flow(${flow.slug}, '2', null, 'freed')`.execute()
        await untilBlocked(sql, 'waits for a key')
        throw undo
      })
      .catch((error: unknown) => expect(error).toBe(undo))
    expect(await late).toEqual([{ input: 2 }])
    await Promise.all([first.end(), second.end()])
  })

  test('that somebody else used is refused without a word of their run', async () => {
    const flow = await compile()
    const theirs = database.as('service_role', { claims: { sub: randomUUID() }, connections: 1 })
    const [run] = await theirs`select run_id from pgflow.start_flow(${flow.slug}, '{}', null, 'mine')`
    await sql`select pgflow.grant_client_access('authenticated')`
    const other = database.as('authenticated', { claims: { sub: randomUUID() } })
    const refused = await refusal(other`select pgflow.start_flow(${flow.slug}, '{}', null, 'mine')`)
    expect(refused).toMatchObject({ code: 'SF202', message: `Idempotency key "mine" of flow "${flow.slug}" is taken.` })
    expect(JSON.stringify(refused)).not.toContain(run!.run_id)
    await sql`select pgflow.revoke_client_access('authenticated')`
  })
})

test('one run_id of two connections at once starts one run, and the later waits for the earlier', async () => {
  const flow = await compile()
  const runId = randomUUID()
  const first = database.connect()
  const second = database.connect({ settings: { application_name: 'second run id' } })
  let late: PromiseLike<readonly { input: number }[]> | undefined
  await first.begin(async (tx) => {
    await tx`select pgflow.start_flow(${flow.slug}, '1', ${runId})`
    late = second<{ input: number }[]>`select input from pgflow.start_flow(${flow.slug}, '2', ${runId})`.execute()
    await untilBlocked(sql, 'second run id')
  })
  expect(await late).toEqual([{ input: 1 }])
  expect(await flow.depth('a')).toBe(1)
  await Promise.all([first.end(), second.end()])
})
