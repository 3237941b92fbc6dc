import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import { holdFence } from '@starflow/core/operations'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { connect } from '../src/database/open-database.ts'
import { forgetUnseen } from '../src/deploy/forget-unseen.ts'
import { NeverBegun, whileHeld } from '../src/operations/fence-hold.ts'

const database = await testDatabase()
const { sql } = database
const proxy = await flakyProxy(database.url)
afterAll(() => proxy.close())

const NAMES = ['orders__a', 'orders__b']
/** With so much time that a slow computer takes nothing from what goes on. */
const TIMES = { holdMs: 90_000, keepEveryMs: 100, unconfirmedMs: 60_000, answerWithinMs: 800, liftWithinMs: 30_000 }
const SHORT = { ...TIMES, unconfirmedMs: 3000 }

function cutFor(ms: number): void {
  proxy.cut()
  setTimeout(proxy.restore, ms)
}

beforeEach(async () => {
  proxy.restore()
  await sql`delete from pgflow.worker_functions`
  for (const name of NAMES) await new StarflowSql(sql).trackWorkerFunction(name)
})

const holdOf = (heldBy: string) => ({ holdId: randomUUID(), functionNames: NAMES, fencedBy: 'rollout', heldBy })

function held(
  work: (signal: AbortSignal) => Promise<void>,
  times = TIMES,
  { signal = new AbortController().signal, onWaiting = () => {} } = {},
) {
  return whileHeld(
    { ...{ url: proxy.url, hold: holdOf('rollout by ana'), times, signal, onWaiting }, onFenced: () => {} },
    work,
  )
}

const fences = async () =>
  (await sql`select distinct fenced_by as name from pgflow.worker_functions`).map((row) => row.name)
/** Settles when the hold was prolonged from now on. */
async function kept(): Promise<void> {
  const until = async () => (await sql`select max(held_until) as until from pgflow.fence_holds`)[0]!.until as Date
  const before = await until()
  await expect.poll(until, { timeout: 60_000 }).not.toEqual(before)
}
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

describe('a rollout whose connection', () => {
  test.each<[string, () => unknown]>([
    ['is reset', () => proxy.reset()],
    ['hangs', () => proxy.stopAt('keep_fence_hold', 'before')],
    ['is away for a moment', () => cutFor(400)],
  ])('%s goes on, holding its fence on another one', async (_what, disturb) => {
    const restored = await held(async (signal) => {
      await kept()
      await disturb()
      await kept()
      expect(signal.aborted).toBe(false)
    })
    expect(restored.map((each) => each.functionName)).toEqual(NAMES)
    expect(await fences()).toEqual([null])
  })

  test('stays away is ended, and waited for, before another one may begin', async () => {
    let isOver: boolean | undefined
    const rollout = held(async (signal) => {
      await kept()
      proxy.cut()
      await aborted(signal)
      const refused = holdFence(sql, holdOf('rollout by ben'), 1000).then(
        () => false,
        ({ code }) => code === 'SF632',
      )
      isOver = !(await refused)
      proxy.restore()
    }, SHORT)
    await expect(rollout).rejects.toMatchObject({
      code: 'SF637',
      message: '"rollout by ana" was ended: it could not tell the database for 3 s that it is at work.',
    })
    expect(isOver).toBe(false)
    // It was still its own to lift.
    expect(await fences()).toEqual([null])
  })

  test('comes back after another one has begun lifts nothing of that one', async () => {
    const rollout = held(async (signal) => {
      await sql`update pgflow.fence_holds set held_until = now()`
      // Taken in the moment between two beats.
      await sql`update pgflow.fence_holds set hold_id = ${randomUUID()}, held_by = 'rollout by ben'`
      await aborted(signal)
    })
    await expect(rollout).rejects.toMatchObject({
      code: 'SF637',
      message: 'The fence of "rollout by ana" was taken from it.',
    })
    expect(await fences()).toEqual(['rollout'])
  })

  test.each<[string, () => unknown]>([
    ['is away', () => cutFor(700)],
    ['keeps the answer', () => void proxy.stopAt('end_fence_hold', 'after')],
  ])('%s when it lifts its fence lifts it all the same', async (_what, disturb) => {
    const restored = await held(async () => void disturb())
    expect(restored).toMatchObject(NAMES.map((functionName) => ({ functionName, enabled: true, fencedBy: null })))
    expect(await fences()).toEqual([null])
  })

  test('does not come back says that the functions stay fenced, and what was before', async () => {
    const failing = held(
      async () => {
        proxy.cut()
        throw new Error('no such project')
      },
      { ...TIMES, liftWithinMs: 100 },
    )
    await expect(failing).rejects.toMatchObject({
      code: 'SF637',
      message: '"rollout by ana" could not lift its fence: orders__a, orders__b stay fenced.',
      detail: expect.stringContaining('Before that: no such project'),
    })
    expect(await fences()).toEqual(['rollout'])
  })
})

test('a rollout that had to wait for one that was killed has its whole time', async () => {
  await holdFence(sql, holdOf('rollout by ben'), SHORT.unconfirmedMs + 200)
  await held(
    async (signal) => {
      await kept()
      expect(signal.aborted).toBe(false)
    },
    SHORT,
    // Nor does it cost it anything that it loses its connection meanwhile.
    { onWaiting: () => proxy.reset() },
  )
  expect(await fences()).toEqual([null])
})

test('a rollout that is interrupted while it waits says whose fence still stands', async () => {
  const interruption = new AbortController()
  await holdFence(sql, holdOf('rollout by ben'), 60_000)
  const waiting = held(async () => {}, TIMES, { signal: interruption.signal, onWaiting: () => interruption.abort() })
  await expect(waiting).rejects.toThrow(new NeverBegun(['rollout by ben']))
  expect(await fences()).toEqual(['rollout'])
})

describe('a rollout that takes its fence', () => {
  test.each([
    ['hold_fence', 'before'],
    ['commit', 'after'],
  ] as const)('and loses the answer (%s, %s the database has it) has it all the same', async (text, when) => {
    void proxy.stopAt(text, when)
    let fenced: unknown
    await held(async () => {
      fenced = await fences()
    })
    expect([fenced, await fences()]).toEqual([['rollout'], [null]])
  })

  test('and is interrupted before it has the answer leaves none behind', async () => {
    const interruption = new AbortController()
    void proxy.stopAt('commit', 'after').then(() => interruption.abort())
    const taking = held(async () => {}, TIMES, { signal: interruption.signal })
    await expect(taking).rejects.toThrow(new NeverBegun([]))
    expect(await fences()).toEqual([null])
  })

  test('and cannot ask any more says that it may stand', async () => {
    void proxy.stopAt('commit', 'after').then(proxy.cut)
    await expect(held(async () => {}, { ...TIMES, unconfirmedMs: 100 })).rejects.toMatchObject({
      code: 'SF637',
      message: '"rollout by ana" could not begin, and its fence may stand: orders__a, orders__b.',
    })
    expect(await fences()).toEqual(['rollout'])
  })
})

test('a rollout whose work fails lifts its fence and fails with it', async () => {
  await expect(
    held(async () => {
      throw new Error('no such project')
    }),
  ).rejects.toThrow('no such project')
  expect(await fences()).toEqual([null])
})

describe('what a deploy that failed has made known', () => {
  const known = async () =>
    (await sql`select function_name as name from pgflow.worker_functions`).map((row) => row.name)

  test('is forgotten, and nothing is asked where there is none', async () => {
    const failures: string[] = []
    const away = new Proxy(sql, {
      apply: () => {
        throw new Error('asked')
      },
    })
    await forgetUnseen(away, [], { onFailure: (text) => failures.push(text) })
    await forgetUnseen(sql, ['orders__b'], { onFailure: (text) => failures.push(text) })
    expect([await known(), failures]).toEqual([['orders__a'], []])
  })

  test('is told of and kept when the database does not answer, which hides no failure', async () => {
    const failures: string[] = []
    await sql`select pgflow.track_worker_function('orders__b')`
    const hanging = connect(proxy.url, 'deploy', { connections: 1 })
    void proxy.stopAt('delete from', 'before')
    await forgetUnseen(hanging, ['orders__b'], { withinMs: 100, onFailure: (text) => failures.push(text) })
    await hanging.end({ timeout: 0 })
    expect(failures).toEqual(['orders__b could not be forgotten: The database has not answered within 0.1 s.'])
    expect(await known()).toContain('orders__b')
  })
})
