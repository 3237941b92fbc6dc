import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
/** The owner of what callers without an id start. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

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
})

describe('the run ids and idempotency keys of a caller', () => {
  const caller = (sub: string | undefined, role = 'authenticated' as 'authenticated' | 'anon') =>
    database.as(role, { claims: { role, sub } })
  const [a, b] = [randomUUID(), randomUUID()]
  const callers: [string, string | null, Sql][] = [
    ['a signed-in person', a, caller(a)],
    ['another one', b, caller(b)],
    ['a caller without an id', NO_ID, caller(undefined, 'anon')],
    ['the server', null, sql],
  ]
  beforeAll(() => sql`select pgflow.grant_client_access('authenticated'), pgflow.grant_client_access('anon')`)
  afterAll(() => sql`select pgflow.revoke_client_access('authenticated'), pgflow.revoke_client_access('anon')`)

  test.each([
    ['clients first', callers],
    ['the server first', callers.toReversed()],
  ])('are their own name space, %s: the same key starts a run for each, with the input of each', async (_, order) => {
    const flow = await compile()
    const runs = new Map<string, string>()
    for (const [who, owner, client] of order) {
      const [run] =
        await client`select * from pgflow.start_flow(${flow.slug}, ${JSON.stringify(who)}::text::jsonb, null, 'order-42')`
      expect(run).toMatchObject({ owner, input: who, idempotency_key: 'order-42' })
      runs.set(who, run!.run_id)
    }
    expect(new Set(runs.values()).size).toBe(4)
    expect(await flow.depth('a')).toBe(4)
    for (const [who, owner, client] of order) {
      // Callers without an id are many people, and none of them sees the run of another.
      if (owner === NO_ID) {
        expect(await refusal(client`select pgflow.start_flow(${flow.slug}, '0', null, 'order-42')`)).toMatchObject({
          code: 'SF202',
        })
      } else {
        const [again] = await client`select * from pgflow.start_flow(${flow.slug}, '0', null, 'order-42')`
        expect(again).toMatchObject({ run_id: runs.get(who), input: who })
      }
    }
    expect(await flow.depth('a')).toBe(4)
  })

  test('are their own: no other caller is given a run by its id, and clients learn the same of every run that is not theirs', async () => {
    const [flow, other] = [await compile(), await compile()]
    for (const [who, , first] of callers) {
      const runId = randomUUID()
      await first`select pgflow.start_flow(${flow.slug}, '"planted"', ${runId})`
      for (const [whoElse, owner, client] of callers) {
        if (whoElse === who) continue
        const starts = (slug: string) => [
          client`select pgflow.start_flow(${slug}, '1', ${runId})`,
          client`select pgflow.start_flow(${slug}, '1', ${runId}, 'a key')`,
          client`select pgflow.start_flow_with_states(${slug}, '1', ${runId})`,
          client`select pgflow.start_flows(${slug}, '[1]', array[${runId}]::uuid[])`,
        ]
        for (const slug of [flow.slug, other.slug]) {
          for (const start of starts(slug)) {
            const refused = await refusal(start)
            if (owner === null) {
              const whose = slug === flow.slug ? 'another caller' : `flow "${flow.slug}"`
              expect(refused).toMatchObject({
                code: 'SF202',
                message: `Run ${runId} already exists and belongs to ${whose}.`,
              })
            } else {
              expect(refused).toEqual({
                code: 'SF202',
                message: `Run id ${runId} cannot be used.`,
                detail: `It was asked for flow "${slug}".`,
                hint: 'Use a new run id.',
              })
            }
          }
        }
      }
    }
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
