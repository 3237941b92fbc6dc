import { type AnyFlow, Flow, type Json, type JsonObject } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { planFlow } from './flow-plan.ts'
import { RunState, type StateEvent } from './run-state.ts'

const failure = { name: 'Error', message: 'no' }
let atMs = 0
const event = (
  type: StateEvent['type'],
  nodeId: string | null = null,
  payload: JsonObject | null = null,
): StateEvent => ({
  ...{ type, nodeId, payload, atMs: ++atMs },
})
const start = (node: string, attempt = 1) => event('node_start', node, { attempt })
const complete = (node: string, output: Json = null) => event('node_complete', node, { output })
const fail = (node: string, attempt = 1) => event('node_error', node, { attempt, error: failure })

function stateOf(flow: unknown, events: readonly StateEvent[], input: Json = {}): RunState {
  const state = new RunState(planFlow(flow as AnyFlow), input)
  for (const each of [event('run_started'), ...events]) state.apply(each)
  return state
}
const statuses = (state: RunState) => Object.fromEntries(state.snapshot().map(({ slug, status }) => [slug, status]))
const ready = (state: RunState) =>
  state.readyTasks(Number.MAX_SAFE_INTEGER).map(({ step, index }) => `${step.slug}[${index}]`)

const diamond = new Flow({ slug: 'diamond' })
  .step({ slug: 'top' }, () => 1)
  .step({ slug: 'left', dependsOn: ['top'], if: { top: 1 }, whenUnmet: 'skip-cascade' }, () => 1)
  .step({ slug: 'right', dependsOn: ['top'] }, () => 1)
  .step({ slug: 'bottom', dependsOn: ['left', 'right'] }, () => 1)

test('a run that has not started has nothing to do and no outcome', () => {
  const state = new RunState(planFlow(diamond), {})
  expect([ready(state), state.outcome(), state.nextTransition()]).toEqual([[], undefined, undefined])
})

test('a step is ready when all its dependencies have ended', () => {
  expect(ready(stateOf(diamond, []))).toEqual(['top[0]'])
  expect(ready(stateOf(diamond, [start('top'), complete('top', 1)]))).toEqual(['left[0]', 'right[0]'])
  const both = [start('top'), complete('top', 1), start('left'), complete('left'), start('right')]
  expect(ready(stateOf(diamond, both))).toEqual([])
  expect(ready(stateOf(diamond, [...both, complete('right')]))).toEqual(['bottom[0]'])
})

test('a transition is no part of the state before its event is', () => {
  const events = [start('top'), complete('top', 2)]
  const state = stateOf(diamond, events)
  expect(statuses(state)).toMatchObject({ left: 'created' })
  expect(state.nextTransition()).toEqual({ kind: 'skip', stepSlug: 'left', reason: 'condition_unmet' })
  state.apply(event('node_skip', 'left', { reason: 'condition_unmet' }))
  expect(statuses(state)).toMatchObject({ left: 'skipped' })
})

test('a step below a cascade is skipped, in whichever order its parents end', () => {
  const skip = event('node_skip', 'left', { reason: 'condition_unmet' })
  const right = [start('right'), complete('right')]
  for (const order of [
    [skip, ...right],
    [...right, skip],
  ]) {
    const state = stateOf(diamond, [start('top'), complete('top', 2), ...order])
    expect(ready(state)).toEqual([])
    expect(state.nextTransition()).toEqual({ kind: 'skip', stepSlug: 'bottom', reason: 'dependency_skipped' })
    state.apply(event('node_skip', 'bottom', { reason: 'dependency_skipped' }))
    expect(state.outcome()).toEqual({ status: 'success', output: {} })
  }
})

const mapped = new Flow<number[]>({ slug: 'mapped', maxAttempts: 2 })
  .map({ slug: 'each', whenExhausted: 'skip' }, (n) => n)
  .step({ slug: 'after', dependsOn: ['each'] }, () => 1)

describe('a map', () => {
  test('is completed by its last element, with all outputs in order', () => {
    const state = stateOf(mapped, [start('each[1]'), complete('each[1]', 'b'), start('each[0]')], [1, 2])
    expect(statuses(state)).toEqual({ each: 'started', after: 'created' })
    state.apply(complete('each[0]', 'a'))
    expect(state.snapshot()[0]).toMatchObject({ status: 'completed', output: ['a', 'b'] })
  })

  test('over nothing is a transition, not a task', () => {
    expect(stateOf(mapped, [], []).nextTransition()).toEqual({ kind: 'complete', stepSlug: 'each', output: [] })
  })

  test('with an element that failed is skipped, and takes no outcome of its siblings any more', () => {
    const state = stateOf(mapped, [start('each[0]'), start('each[1]'), fail('each[0]')], [1, 2])
    expect(state.isOpen('each')).toBe(false)
    state.apply(event('node_skip', 'each', { reason: 'handler_failed' }))
    state.apply(complete('each[1]', 'late'))
    expect(state.snapshot()[0]).toMatchObject({ status: 'skipped', skipReason: 'handler_failed', output: null })
    expect(ready(state)).toEqual(['after[0]'])
  })

  test('of many elements is taken in time that grows with their number', () => {
    const count = 100_000
    const state = stateOf(mapped, [], new Array<number>(count).fill(1))
    for (let index = 0; index < count; index++) {
      const task = state.takeReady(Number.MAX_SAFE_INTEGER, () => true)!
      state.apply(start(`each[${task.index}]`))
      state.apply(
        index % 2 === 0
          ? complete(`each[${task.index}]`)
          : event('node_retry', `each[${task.index}]`, { attempt: 1, delay_ms: 0 }),
      )
    }
    // Quadratic would be minutes: the test would not end in time.
    expect(state.takeReady(Number.MAX_SAFE_INTEGER, () => true)).toBeDefined()
  })
})

describe('an attempt that was cut off', () => {
  test('counts, and another one follows while the budget lasts', () => {
    const state = stateOf(mapped, [start('each[0]'), event('runner_lost')], [1])
    expect(state.readyTasks(atMs)).toMatchObject([{ index: 0, attempt: 2 }])
  })

  test('was the last one: the task fails', () => {
    const state = stateOf(
      mapped,
      [start('each[0]'), event('runner_lost'), start('each[0]', 2), event('runner_lost')],
      [1],
    )
    expect(ready(state)).toEqual([])
    expect(state.nextTransition()).toMatchObject({ kind: 'fail', stepSlug: 'each', index: 0, attempt: 2 })
  })

  test('is no attempt of a wait: it stays open', () => {
    const waiting = new Flow({ slug: 'waiting' }).wait({ slug: 'approve' })
    const state = stateOf(waiting, [
      start('approve'),
      event('run_paused', null, { nodes: ['approve'] }),
      event('run_resumed'),
    ])
    expect(state.openWaits()).toMatchObject([{ attempt: 1, wasEntered: true, wasAnnounced: true }])
    const lost = stateOf(waiting, [
      ...[start('approve'), event('run_paused', null, { nodes: ['approve'] }), event('runner_lost')],
      ...[event('run_resumed')],
    ])
    expect(lost.openWaits()).toMatchObject([{ wasEntered: true, wasAnnounced: false }])
  })
})

test('a run that is retried forgives attempts and keeps what completed', () => {
  const failing = new Flow<number[]>({ slug: 'failing', maxAttempts: 1 }).map({ slug: 'each' }, (n) => n)
  const events = [start('each[0]'), complete('each[0]', 'a'), start('each[1]'), fail('each[1]')]
  const state = stateOf(failing, events, [1, 2])
  expect(state.outcome()).toMatchObject({ status: 'error', stepSlug: 'each', failure })
  state.apply(event('run_retried'))
  expect(state.outcome()).toBeUndefined()
  expect(state.readyTasks(atMs)).toMatchObject([{ index: 1, attempt: 2 }])
  expect(state.countedAttempts(state.readyTasks(atMs)[0]!)).toBe(0)
  for (const each of [start('each[1]', 2), complete('each[1]', 'b')]) state.apply(each)
  expect(state.outcome()).toEqual({ status: 'success', output: { each: ['a', 'b'] } })
})

test('a condition that failed a run is judged again when it is retried', () => {
  const must = new Flow<{ ok: boolean }>({ slug: 'must' }).step(
    { slug: 'only', if: { ok: true }, whenUnmet: 'fail' },
    () => 1,
  )
  const state = stateOf(must, [event('node_error', 'only', { attempt: 0, error: failure })], { ok: false })
  expect(state.outcome()).toMatchObject({ status: 'error' })
  state.apply(event('run_retried'))
  expect(state.nextTransition()).toMatchObject({ kind: 'fail', stepSlug: 'only', index: undefined })
})

test('an event that is there twice, or comes late, changes nothing', () => {
  const events = [
    start('top'),
    start('top'),
    complete('top', 1),
    complete('top', 9),
    fail('top'),
    start('right'),
    start('right'),
  ]
  const state = stateOf(diamond, events)
  expect(state.snapshot()[0]).toMatchObject({ status: 'completed', output: 1, attempts: [1] })
  expect(state.snapshot()[2]).toMatchObject({ status: 'started', attempts: [1] })
})

test('a start delay counts from the end of the last dependency', () => {
  const delayed = new Flow({ slug: 'delayed' })
    .step({ slug: 'first' }, () => 1)
    .step({ slug: 'later', dependsOn: ['first'], startDelay: 10 }, () => 1)
  const state = stateOf(delayed, [start('first'), complete('first')])
  expect(state.nextDueMs(() => true)).toBe(atMs + 10_000)
  expect(state.readyTasks(atMs + 9999)).toEqual([])
  expect(state.readyTasks(atMs + 10_000)).toHaveLength(1)
})
