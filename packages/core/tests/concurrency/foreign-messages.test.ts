import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from '../support/compiled-flow.ts'
import { expectAllWell } from '../support/oracle.ts'
import { shape } from '../support/shape.ts'

const { sql } = await testDatabase()

const BATCH = 10
let count = 0
let flow: CompiledFlow

beforeEach(async () => {
  flow = await CompiledFlow.compileShape(sql, `foreign${++count}`, shape({ a: {} }, { baseDelay: 0 }))
})
afterEach(async () => {
  await sql`select from pgmq.purge_queue(${flow.queue('a')})`.catch(() => {})
  await sql`select pgflow.delete_flow_and_data(${flow.slug})`
  await expectAllWell(sql)
})

const sendForeign = (times: number) =>
  sql`select pgmq.send(${flow.queue('a')}, '{"secret": true}'::jsonb) from generate_series(1, ${times}::integer)`

/** As if that many seconds had gone by for all messages since `since`, however many have. */
const pass = (seconds: number, since: number) =>
  sql.unsafe(
    `update pgmq.q_${flow.queue('a')} set vt = vt - make_interval(secs => ${seconds - (performance.now() - since) / 1000})`,
  )

describe('unsupported messages at the head of a queue', () => {
  test('let valid work through: 50 of them cost 5 claims of 10', async () => {
    await sendForeign(50)
    await flow.start({})
    const found: number[] = []
    for (let claims = 0; claims < 6; claims++) found.push((await flow.claim('a', BATCH)).length)
    expect(found).toEqual([0, 0, 0, 0, 0, 1])
  })

  test('are told to the worker each time they are read, and their bodies are not', async () => {
    await sendForeign(3)
    await flow.start({})
    const work = await flow.work('a', { qty: BATCH })
    expect(work.claimed).toHaveLength(1)
    expect(work.unsupported.map((message) => message.readCount)).toEqual([1, 1, 1])
    expect(JSON.stringify(work)).not.toContain('secret')
  })

  test('do not starve work: 500 of them take ever fewer of the claims, while work comes in', async () => {
    await sendForeign(500)
    let open = 0
    let completions = 0
    let wasted = 0
    const claimsOf: number[] = []
    // Five minutes: every 5 s new work and 60 claims, about what one worker at 12 polls a second has.
    for (let second = 0; second < 300 && wasted <= 6 * 500; second += 5) {
      const since = performance.now()
      await flow.start(...Array.from({ length: 10 }, (_, n) => n))
      open += 10
      let claims = 0
      while (open > 0 && claims < 60) {
        claims += 1
        const work = await flow.work('a', { qty: BATCH })
        wasted += work.unsupported.length
        await flow.core.settleTasks(
          flow.workerId,
          work.claimed.map((task) => completed(task, 1)),
        )
        open -= work.claimed.length
        completions += work.claimed.length
      }
      claimsOf.push(claims)
      await pass(5, since)
    }
    expect([open, completions]).toEqual([0, 600])
    // They are read at 0, 5, 15, 35, 75 and 155 s, and not once more in five minutes.
    expect(wasted).toBe(6 * 500)
    expect(Math.max(...claimsOf)).toBeLessThanOrEqual(51)
  })
})
