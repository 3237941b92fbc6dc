import { randomUUID } from 'node:crypto'
import { Flow, type RunnerContext } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { LocalWorkflowStateAdapter } from '../src/adapters/local/index.ts'
import { Engine } from '../src/engine/engine.ts'
import { Runner } from '../src/runner/runner.ts'
import type { RunnerEvent } from '../src/runner/runner-events.ts'
import { EventLog } from './support/event-log.ts'
import { enqueueFlow } from './support/queued-flow.ts'
import { slowFailing } from './support/slow-failing-adapter.ts'
import { approval, payload, waitHost } from './support/waiting-flow.ts'

/** Every kind of boundary: retries, skips, maps, nothing to map, variables, phases, progress, sessions. */
function everyBoundary(inHandler: (node: string) => void) {
  const failed = new Set<string>()
  return new Flow<number[], RunnerContext>({ slug: 'everyBoundary', baseDelay: 0, maxAttempts: 2 })
    .map({ slug: 'each' }, async (n, ctx) => {
      inHandler(`each[${ctx.stepTask.task_index}]`)
      if (n === 2 && !failed.has('each') && failed.add('each')) throw new Error('once')
      return n
    })
    .array({ slug: 'none', dependsOn: ['each'] }, async (_, ctx) => {
      inHandler('none')
      await ctx.phase('halfway')
      await ctx.variables.set('seen', 1)
      await ctx.session.set('seen', 1)
      await ctx.progress(50)
      return [] as number[]
    })
    .map({ slug: 'overNothing', array: 'none' }, (n) => n)
    .step({ slug: 'never', dependsOn: ['none'], if: { none: [1] } }, () => 1)
    .step({ slug: 'broken', dependsOn: ['none'], whenExhausted: 'skip', maxAttempts: 1 }, () => {
      throw new Error('always')
    })
    .step({ slug: 'last', dependsOn: ['each', 'overNothing', 'never', 'broken'] }, async (outputs, ctx) => {
      inHandler('last')
      return { ...outputs, seen: ctx.variables.get('seen') ?? null, session: await ctx.session.get('seen') }
    })
}

const OUTPUT = { last: { each: [1, 2, 3], overNothing: [], seen: 1, session: 1 } }

/** What of a log is decided by no race: its events, sorted. */
const sortedEvents = (events: readonly { type: string; nodeId: string | null }[]) =>
  events.map(({ type, nodeId }) => `${type} ${nodeId ?? ''}`.trim()).sort()

describe('every boundary is awaited', () => {
  test('when a handler runs, its start is durable and nothing of its node is on its way', async () => {
    const { adapter, underway } = slowFailing(await LocalWorkflowStateAdapter.open({ path: ':memory:' }), {
      fails: 'never',
    })
    const runId = randomUUID()
    const overlapping: string[] = []
    const flow = everyBoundary((node) => {
      overlapping.push(...underway().filter((call) => call.endsWith(` ${node}`)))
    })
    const result = await new Engine({ adapter }).run(flow, [1, 2, 3], { runId })
    expect(underway()).toEqual([])
    expect(overlapping).toEqual([])
    expect(result).toMatchObject({ end: 'success', output: OUTPUT })
    await adapter.close()
  })

  test('in a run of one task at a time, a handler finds no call on its way', async () => {
    const { adapter, underway } = slowFailing(await LocalWorkflowStateAdapter.open({ path: ':memory:' }), {
      fails: 'never',
    })
    const found: string[] = []
    const flow = everyBoundary(() => void found.push(...underway()))
    await new Engine({ adapter, runConcurrency: 1 }).run(flow, [1, 2, 3])
    expect(found).toEqual([])
    await adapter.close()
  })
})

describe.each(['before', 'after'] as const)(
  'a store that fails once at every method, %s it has done its work',
  (fails) => {
    test('costs no run and repeats no handler and no event', async () => {
      const reference = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
      const expected = await new Engine({ adapter: reference }).run(
        everyBoundary(() => {}),
        [1, 2, 3],
      )
      const inner = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
      const { adapter, calls } = slowFailing(inner, { fails })
      const ran: string[] = []
      const result = await new Engine({ adapter }).run(
        everyBoundary((node) => void ran.push(node)),
        [1, 2, 3],
      )
      expect(result).toMatchObject({ end: 'success', output: OUTPUT })
      expect(ran.sort()).toEqual(['each[0]', 'each[1]', 'each[1]', 'each[2]', 'last', 'none'])
      expect(sortedEvents(await inner.readEvents(result.runId))).toEqual(
        sortedEvents(await reference.readEvents(expected.runId)),
      )
      expect(calls.filter((call) => call.endsWith(' failed')).length).toBeGreaterThan(12)
      await inner.close()
      await reference.close()
    })

    test('a runner on it claims, executes, waits, and goes on', async () => {
      const inner = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
      const { adapter } = slowFailing(inner, { fails })
      const log = new EventLog<RunnerEvent>()
      const host = waitHost()
      const runner = new Runner([approval], {
        ...{ adapter, waitHost: host, onEvent: log.record },
        ...{ claimIntervalMs: 20, heartbeatIntervalMs: 20, sweepIntervalMs: 20 },
      })
      // Before it starts: its first claim is the one that fails, and has something to take.
      const runId = await enqueueFlow(inner, approval, { text: 'hello' })
      await runner.start()
      // A claim whose answer was lost is nobody's: it waits for the sweep, which a test does not.
      if (fails === 'before') {
        expect(await log.seen('run.ended')).toMatchObject({ end: 'paused' })
        expect(host.wakes).toHaveLength(1)
        await inner.resumeWait(runId, 'approve', payload)
        expect(await log.seen('run.ended', 2)).toMatchObject({ end: 'success' })
      } else {
        await log.seen('claim.failed')
        expect(await inner.readRun(runId)).toMatchObject({ claimState: 'claimed', leasedBy: runner.runnerId })
      }
      await runner.stop()
      await inner.close()
    })
  },
)
