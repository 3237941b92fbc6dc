import type { AnyFlow } from '@starflow/dsl'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { LocalWorkflowStateAdapter } from '../src/adapters/local/index.ts'
import { planFlow } from '../src/engine/flow-plan.ts'
import type { ExecutionResult, PickTask } from '../src/engine/run-execution.ts'
import { RunState, type StepSnapshot } from '../src/engine/run-state.ts'
import type { RunEvent } from '../src/run-record.ts'
import type { QueueingStateAdapter } from '../src/state-adapter.ts'
import { SWEEP, TTL_MS } from './conformance/run-fixture.ts'
import { interceptedAdapter } from './support/intercepted-adapter.ts'
import { enqueueFlow } from './support/queued-flow.ts'
import { type RandomFlow, randomFlow } from './support/random-flow.ts'
import { takeUp } from './support/waiting-flow.ts'

const RUNS = Number(process.env.RUNS ?? 120)

/** A store in memory whose clock is set forward by hand. */
async function openStore() {
  let now = Date.UTC(2026, 0, 1)
  const adapter = await LocalWorkflowStateAdapter.open({ path: ':memory:', clock: () => now })
  return {
    adapter,
    loseRunner: async () => {
      now += TTL_MS + 1
      await adapter.expireOldLeases(SWEEP)
    },
  }
}

/** What a run came to, by its events alone. */
function fold(flow: AnyFlow, input: RandomFlow['input'], events: readonly RunEvent[]): RunState {
  const state = new RunState(planFlow(flow), input)
  for (const event of events) state.apply({ ...event, atMs: Date.parse(event.createdAt) })
  return state
}

/**
 * Attempts differ where a runner was lost; nothing else of a run may. The stack of a failure is none of it: it also tells what else
 * the process had to do in that turn, since a handler goes on from whatever ran the microtasks.
 */
const comparable = (steps: readonly StepSnapshot[]) =>
  steps.map(({ attempts: _, failure, ...step }) => ({ ...step, failure: failure && { ...failure, stack: undefined } }))

/** Something else that has its turns in this process, as whatever shares it. */
function disturbTurns(): void {
  const timer = setInterval(() => void setImmediate(() => {}), 1)
  onTestFinished(() => clearInterval(timer))
}

async function execute(
  adapter: QueueingStateAdapter,
  { build, input }: RandomFlow,
  pick: PickTask,
): Promise<{ result: ExecutionResult; events: readonly RunEvent[]; steps: readonly StepSnapshot[] }> {
  const flow = build()
  const runId = await enqueueFlow(adapter, flow, input)
  const result = await (await takeUp(adapter, flow, { runConcurrency: 1, pick })).execute()
  const events = await adapter.readEvents(runId)
  return { result, events, steps: fold(flow, input, events).snapshot() }
}

const first: PickTask = (tasks) => tasks[0]!

test('every run ends, no step is left behind by a success, and the events alone tell how', async () => {
  await fc.assert(
    fc.asyncProperty(randomFlow, async (random) => {
      const { adapter } = await openStore()
      const { result, events, steps } = await execute(adapter, random, first)
      const folded = fold(random.build(), random.input, events)
      expect(folded.nextTransition()).toBeUndefined()
      expect(folded.outcome()?.status).toBe(result.end)
      if (result.end === 'success') {
        expect(steps.every(({ status }) => status === 'completed' || status === 'skipped')).toBe(true)
        expect(folded.outcome()).toMatchObject({ output: result.output })
      } else {
        expect(steps.some(({ status }) => status === 'failed')).toBe(true)
      }
      await adapter.close()
    }),
    { numRuns: RUNS },
  )
})

test('a run that is cut off at any write, and cut off again, ends as one that was not', async () => {
  disturbTurns()
  await fc.assert(
    fc.asyncProperty(randomFlow, fc.nat({ max: 30 }), fc.nat({ max: 30 }), async (random, firstCut, secondCut) => {
      const reference = await openStore()
      const expected = await execute(reference.adapter, random, first)
      await reference.adapter.close()

      const { adapter, loseRunner } = await openStore()
      const started: string[] = []
      const flow = random.build((node) => started.push(node))
      const runId = await enqueueFlow(adapter, flow, random.input)
      let result: ExecutionResult = { end: 'stopped' }
      for (const cut of [firstCut, secondCut, Number.POSITIVE_INFINITY]) {
        const completed = await completedNodes(adapter, runId)
        started.length = 0
        result = await executeUntil(adapter, flow, cut)
        for (const node of started) expect(completed).not.toContain(node)
        if (result.end !== 'stopped' || (await hasEnded(adapter, runId))) break
        await loseRunner()
      }
      const events = await adapter.readEvents(runId)
      const run = (await adapter.readRun(runId))!
      expect(run.status).toBe(expected.result.end)
      if (expected.result.end === 'success') expect(run.output).toEqual(expected.result.output)
      expect(comparable(fold(flow, random.input, events).snapshot())).toEqual(comparable(expected.steps))
      const completions = events.filter(({ type }) => type === 'node_complete').map(({ nodeId }) => nodeId)
      expect(new Set(completions).size).toBe(completions.length)
      await adapter.close()
    }),
    { numRuns: RUNS },
  )
})

test('in which order tasks run decides nothing of a run without failures', async () => {
  await fc.assert(
    fc.asyncProperty(randomFlow, fc.infiniteStream(fc.nat()), async (random, choices) => {
      fc.pre(!random.text.includes('"fails"') && !random.text.includes('"fail"'))
      const { adapter } = await openStore()
      const one = await execute(adapter, random, first)
      const other = await execute(adapter, random, (tasks) => tasks[choices.next().value! % tasks.length]!)
      fc.pre(one.result.end === 'success' && other.result.end === 'success')
      expect(other.result).toEqual(one.result)
      expect(other.steps).toEqual(one.steps)
      await adapter.close()
    }),
    { numRuns: RUNS },
  )
})

/** Executes as a process that is killed before its n-th call that writes the run. */
async function executeUntil(adapter: QueueingStateAdapter, flow: AnyFlow, cut: number): Promise<ExecutionResult> {
  let writes = 0
  const mortal = interceptedAdapter(adapter, async (method) => {
    if (!/^(on|clear|release)/.test(method)) return
    if (writes++ < cut) return
    execution.stop('stopped')
    await new Promise(() => {})
  })
  const execution = await takeUp(mortal, flow, { runConcurrency: 1, pick: first })
  return await execution.execute()
}

/** Cut off after its end, when only the lease was left to give up. */
async function hasEnded(adapter: QueueingStateAdapter, runId: string): Promise<boolean> {
  return (await adapter.readRun(runId))!.completedAt !== null
}

/** By the names that handlers have: a single step is its element 0. */
async function completedNodes(adapter: QueueingStateAdapter, runId: string): Promise<readonly string[]> {
  const events = await adapter.readEvents(runId)
  return events
    .filter(({ type }) => type === 'node_complete')
    .map(({ nodeId }) => (nodeId!.includes('[') ? nodeId! : `${nodeId}[0]`))
}
