import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { type Refusal, refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

interface FunctionRow {
  function_name: string
  enabled: boolean
  enabled_before_fence: boolean | null
  fenced_by: string | null
  fenced_at: Date | null
  disabled_reason: string | null
}

const fence = (names: string[], by = 'ana') =>
  sql<FunctionRow[]>`select * from pgflow.fence_worker_functions(${names}, ${by})`
const restore = (names: string[]) => sql<FunctionRow[]>`select * from pgflow.restore_worker_functions(${names})`
const functions = () => sql<FunctionRow[]>`select * from pgflow.worker_functions order by function_name`
const disable = (name: string) => sql`update pgflow.worker_functions set enabled = false where function_name = ${name}`
const register = async (functionName: string, queueName = functionName) => {
  const workerId = randomUUID()
  await core.registerWorker({ workerId, queueName, functionName })
  return workerId
}
const drained = async (...names: string[]) => (await sql`select pgflow.drained(${names}) as drained`)[0]!.drained

beforeEach(async () => {
  await sql`delete from pgflow.workers`
  await sql`delete from pgflow.worker_functions`
  for (const name of ['a', 'b', 'c']) await core.trackWorkerFunction(name)
})

describe('fence_worker_functions', () => {
  test('disables the named functions, returns what it found and leaves others alone', async () => {
    await disable('b')
    expect(await fence(['b', 'a'])).toMatchObject([
      { function_name: 'a', enabled: false, enabled_before_fence: true, fenced_by: 'ana', fenced_at: expect.any(Date) },
      { function_name: 'b', enabled: false, enabled_before_fence: false, fenced_by: 'ana' },
    ])
    expect((await functions())[2]).toMatchObject({ function_name: 'c', enabled: true, fenced_at: null })
  })

  test('called again keeps the first memory and instant, also where somebody enabled the function meanwhile', async () => {
    const [first] = await fence(['a'])
    expect(await fence(['a'])).toEqual([{ ...first, updated_at: expect.any(Date) }])
    await sql`update pgflow.worker_functions set enabled = true where function_name = 'a'`
    expect(await fence(['a'])).toMatchObject([
      { enabled: false, enabled_before_fence: true, fenced_at: first!.fenced_at },
    ])
  })

  test('refuses by name what somebody else has fenced, and then changes nothing', async () => {
    await fence(['b'], 'deploy of orders')
    const before = await functions()
    const refused = await refusal(fence(['a', 'b']))
    expect(refused).toMatchObject({ code: 'SF421', message: '"ana" cannot fence what "deploy of orders" has fenced.' })
    expect(refused.detail).toContain('Worker functions b, since')
    expect(await functions()).toEqual(before)
  })

  test.each([
    ['a name that is not known', ['a', 'nope'], 'ana', 'SF422'],
    ['no names at all', null as unknown as string[], 'ana', 'SF422'],
    ['a fence without a name', ['a'], ' ', 'SF001'],
  ])('refuses %s, and then changes nothing', async (_what, names, by, code) => {
    const before = await functions()
    expect(await refusal(fence(names, by))).toMatchObject({ code })
    expect(await functions()).toEqual(before)
  })

  test('of two at once with other names one is refused, however the sets overlap', async () => {
    const outcomes = await Promise.allSettled([fence(['a', 'b'], 'one'), fence(['c', 'b'], 'two')])
    expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(new Set((await functions()).map((row) => row.fenced_by).filter(Boolean)).size).toBe(1)
  })

  test('stops a worker that runs, and one that starts meanwhile, from claiming', async () => {
    const flow = await CompiledFlow.compileShape(sql, `fenced${randomUUID().slice(0, 8)}`, shape({ a: {} }))
    const workerId = await flow.register(randomUUID(), 'a')
    await flow.start(1)
    await fence(['a'])
    expect(await flow.work('a', { workerId })).toMatchObject({ worker: 'fenced', claimed: [] })
    expect(await core.registerWorker({ workerId: randomUUID(), queueName: flow.queue('a'), functionName: 'a' })).toBe(
      'fenced',
    )
    await restore(['a'])
    expect(await flow.work('a', { workerId })).toMatchObject({ worker: 'running', claimed: [{ attempt: 1 }] })
  })
})

describe('restore_worker_functions', () => {
  test('puts back what the fence found and forgets it', async () => {
    await disable('b')
    await fence(['a', 'b'])
    const restored = [
      { function_name: 'a', enabled: true, enabled_before_fence: null, fenced_by: null, fenced_at: null },
      { function_name: 'b', enabled: false, enabled_before_fence: null, fenced_by: null, fenced_at: null },
    ]
    expect(await restore(['a', 'b'])).toMatchObject(restored)
    expect(await restore(['a', 'b'])).toMatchObject(restored)
  })

  test('leaves a function alone that is disabled but not fenced', async () => {
    await disable('a')
    expect(await restore(['a'])).toMatchObject([{ enabled: false }])
  })

  test('lets failed starts of the code before be forgotten', async () => {
    await core.reportStartFailure('a', 'old code')
    await fence(['a'])
    expect(await restore(['a'])).toMatchObject([{ failed_starts: 0 }])
  })

  test('refuses a name that is not known', async () => {
    expect(await refusal(restore(['nope']))).toMatchObject({ code: 'SF422' })
  })
})

describe('hold_fence', () => {
  const hold = (names: string[], heldBy: string, holdId: string, fencedBy = 'rollout') =>
    sql<FunctionRow[]>`select * from pgflow.hold_fence(${names}, ${fencedBy}, ${heldBy}, ${holdId}, '30 s')`
  const keep = async (holdId: string) =>
    (await sql`select pgflow.keep_fence_hold(${holdId}, '30 s') as kept`)[0]!.kept as number
  const end = async (holdId: string) =>
    (await sql<FunctionRow[]>`select * from pgflow.end_fence_hold(${holdId})`).map((row) => row.function_name)
  const runOut = () => sql`update pgflow.fence_holds set held_until = pgflow.clock()`
  const [ONE, TWO] = [randomUUID(), randomUUID()]

  test('fences, and ends with what the fence found', async () => {
    await disable('b')
    expect(await hold(['a', 'b'], 'ana', ONE)).toMatchObject([
      { function_name: 'a', enabled: false, enabled_before_fence: true, fenced_by: 'rollout' },
      { function_name: 'b', enabled: false, enabled_before_fence: false },
    ])
    expect(await keep(ONE)).toBe(2)
    expect(await end(ONE)).toEqual(['a', 'b'])
    expect((await functions()).map((row) => [row.enabled, row.fenced_by])).toEqual([
      [true, null],
      [false, null],
      [true, null],
    ])
    expect([await keep(ONE), await end(ONE)]).toEqual([0, []])
  })

  test('is refused by name while another one is at work, also under the same name of a fence, and then changes nothing', async () => {
    await hold(['a'], '100% ana', ONE)
    const before = await functions()
    for (const fencedBy of ['rollout', 'deploy']) {
      const refused = await refusal(hold(['a', 'b'], 'b%s', TWO, fencedBy))
      expect(refused).toMatchObject({ code: 'SF632', message: '"b%s" overlaps with "100% ana".' })
      expect(refused.detail).toBe('It is at work on a. Nothing was changed.')
      expect(refused.hint).toMatch(/by itself within \d+ s\.$/)
    }
    expect(await functions()).toEqual(before)
    expect(await keep(ONE)).toBe(1)
  })

  test('that has run out is another one’s to take, with the first memory; who had it is told, and lifts nothing', async () => {
    await disable('b')
    await hold(['a', 'b'], 'ana', ONE)
    await runOut()
    expect((await hold(['b', 'a'], 'ben', TWO)).map((row) => row.enabled_before_fence)).toEqual([true, false])
    expect([await keep(ONE), await end(ONE)]).toEqual([0, []])
    expect((await functions()).map((row) => row.fenced_by)).toEqual(['rollout', 'rollout', null])
    expect(await end(TWO)).toEqual(['a', 'b'])
  })

  test('that has run out goes on where nobody took it', async () => {
    await hold(['a'], 'ana', ONE)
    await runOut()
    expect(await keep(ONE)).toBe(1)
    expect(await refusal(hold(['a'], 'ben', TWO))).toMatchObject({ code: 'SF632' })
  })

  test('that is prolonged at the moment at which another one would take it is kept', async () => {
    await hold(['a'], 'ana', ONE)
    await runOut()
    const taker = database.connect({ settings: { application_name: 'taker' } })
    let taking: Promise<Refusal> | undefined
    await sql.begin(async (keeper) => {
      await keeper`select pgflow.keep_fence_hold(${ONE}, '30 s')`
      taking = refusal(taker`select pgflow.hold_fence('{a}', 'rollout', 'ben', ${TWO}, '30 s')`)
      await untilBlocked(sql, 'taker')
    })
    expect(await taking).toMatchObject({ code: 'SF632' })
  })

  test('is not lifted from outside while it is at work, unless by force, which it is told', async () => {
    await hold(['a', 'b'], 'rollout of orders by ana', ONE)
    const before = await functions()
    const refused = await refusal(restore(['b', 'c']))
    expect(refused).toMatchObject({
      code: 'SF632',
      message: 'The fence cannot be lifted while "rollout of orders by ana" is at work.',
      detail: 'It is at work on b. Nothing was changed.',
    })
    expect(refused.hint).toContain('npx starflow restore NAME --force')
    expect(await refusal(sql`select pgflow.restore_worker_functions('{b}', force => null)`)).toMatchObject({
      code: 'SF632',
    })
    expect(await functions()).toEqual(before)

    await sql`select pgflow.restore_worker_functions('{b}', force => true)`
    expect((await functions()).map((row) => row.fenced_by)).toEqual(['rollout', null, null])
    expect(await keep(ONE)).toBe(1)
    expect(await end(ONE)).toEqual(['a'])
  })

  test('of one that was killed is lifted from outside once it has run out', async () => {
    await hold(['a'], 'ana', ONE)
    await runOut()
    expect(await restore(['a'])).toMatchObject([{ enabled: true, fenced_by: null }])
    expect(await keep(ONE)).toBe(0)
  })

  test('makes no worker wait that registers meanwhile', async () => {
    await hold(['a'], 'ana', ONE)
    await sql.begin(async (keeper) => {
      await keeper`select pgflow.keep_fence_hold(${ONE}, '30 s')`
      expect(await core.registerWorker({ workerId: randomUUID(), queueName: 'a', functionName: 'a' })).toBe('fenced')
    })
  })
})

describe('enable_worker_functions', () => {
  test('lifts a halt, but no fence', async () => {
    await sql`update pgflow.worker_functions set enabled = false, disabled_reason = 'halt'`
    await fence(['b'])
    await sql`select * from pgflow.enable_worker_functions('{a,b}')`
    expect(await functions()).toMatchObject([
      { function_name: 'a', enabled: true, disabled_reason: null },
      { function_name: 'b', enabled: false, enabled_before_fence: true },
      { function_name: 'c', enabled: false, disabled_reason: 'halt' },
    ])
    await restore(['b'])
    expect((await functions())[1]).toMatchObject({ enabled: true })
  })
})

describe('a halt under a fence', () => {
  test('outlives the fence', async () => {
    const flow = await CompiledFlow.compileShape(sql, `halted${randomUUID().slice(0, 8)}`, shape({ a: {} }))
    const workerId = await flow.register(randomUUID(), 'a')
    await fence(['a'])
    // The claim had passed the fence's check when the fence was raised.
    await sql`update pgflow.worker_functions set enabled = true where function_name = 'a'`
    await sql`select pgmq.send(${flow.queue('a')}, '{}')`
    expect(await flow.work('a', { workerId, onUnsupported: 'halt' })).toMatchObject({ halted: true })
    expect(await restore(['a'])).toMatchObject([{ enabled: false, disabled_reason: expect.stringContaining('halt') }])
  })
})

describe('a halt in a grouped function', () => {
  test('disables that queue alone, so that the workers of the others go on', async () => {
    const flow = await CompiledFlow.compileShape(sql, `grouped${randomUUID().slice(0, 8)}`, shape({ a: {}, b: {} }))
    const [a, b] = [await register('c', flow.queue('a')), await register('c', flow.queue('b'))]
    await sql`select pgmq.send(${flow.queue('a')}, '{}')`
    expect(await flow.work('a', { workerId: a, onUnsupported: 'halt' })).toMatchObject({ halted: true })
    expect([await core.heartbeat(a), await core.heartbeat(b)]).toEqual(['fenced', 'running'])
    expect((await functions())[2]).toMatchObject({ function_name: 'c', enabled: true, disabled_reason: null })
    expect(
      await sql`select disabled_reason from pgflow.worker_function_queues where function_name = 'c' and not enabled`,
    ).toEqual([{ disabled_reason: expect.stringContaining(`read from queue "${flow.queue('a')}"`) }])
    await sql`select * from pgflow.enable_worker_functions('{c}')`
    expect(await core.heartbeat(a)).toBe('running')
  })
})

describe('deprecate_workers and drained', () => {
  test('tell every living worker of the functions to end, and whether all have', async () => {
    const [one, two] = [await register('a'), await register('a')]
    await register('c')
    expect(await drained('a', 'b')).toBe(false)
    expect(await sql`select pgflow.deprecate_workers('{a,b}') as count`).toEqual([{ count: 2 }])
    expect(await sql`select pgflow.deprecate_workers('{a,b}') as count`).toEqual([{ count: 0 }])
    expect([await core.heartbeat(one), await core.heartbeat(two)]).toEqual(['deprecated', 'deprecated'])
    await core.markWorkerStopped(one)
    expect(await drained('a', 'b')).toBe(false)
    await core.markWorkerStopped(two)
    expect([await drained('a', 'b'), await drained('c'), await drained()]).toEqual([true, false, true])
  })

  test('count a worker that was killed until its heartbeat is stale', async () => {
    const workerId = await register('a')
    const silentFor = (ago: string) =>
      sql`update pgflow.workers set last_heartbeat_at = now() - ${ago}::interval where worker_id = ${workerId}`
    await silentFor('11 s')
    expect(await drained('a')).toBe(false)
    await silentFor('13 s')
    expect(await drained('a')).toBe(true)
  })
})

describe('flow_worker_functions', () => {
  test('is the complete set of a flow: registered, grouped, further instances, and known by name only', async () => {
    const slug = `set${randomUUID().slice(0, 8)}`
    const flow = await CompiledFlow.compileShape(sql, slug, shape({ a: {}, b: {} }))
    await sql`delete from pgflow.workers where worker_id = ${flow.workerId}`
    await sql`delete from pgflow.worker_functions where function_name = ${`fn-${flow.workerId}`}`
    for (const name of [flow.queue('a'), `${flow.queue('a')}-2`, `${flow.queue('a')}-other`]) {
      await core.trackWorkerFunction(name)
    }
    await core.trackWorkerFunction(slug)
    await register('grouped', flow.queue('a'))
    await register('grouped', flow.queue('b'))
    const names = await sql<{ name: string }[]>`select pgflow.flow_worker_functions(${slug}) as name`
    expect(names.map((row) => row.name)).toEqual(['grouped', slug, flow.queue('a'), `${flow.queue('a')}-2`])
  })
})
