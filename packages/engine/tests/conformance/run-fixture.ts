import { randomUUID } from 'node:crypto'
import type { FlowShape } from '@starflow/dsl'
import { expect } from 'vitest'
import type { RunClaim, RunEvent, RunRecord } from '../../src/run-record.ts'
import type {
  ClaimArgs,
  ClaimedRun,
  EnqueueSpec,
  QueueingStateAdapter,
  RunnerBeat,
  RunStart,
  WorkflowStateAdapter,
} from '../../src/state-adapter.ts'

export const TTL_MS = 30_000
export const SWEEP = { ttlMs: TTL_MS, maxLosses: 3, reason: 'runner_lost' }

const PACK: FlowShape['steps'][number] = {
  slug: 'pack',
  stepType: 'single',
  dependencies: [],
  whenUnmet: 'skip',
  whenExhausted: 'fail',
  requiredInputPattern: { defined: false },
  forbiddenInputPattern: { defined: false },
}

/** Of a flow with one step and its waits; which steps are waits is all that adapters look for. */
export const SHAPE: FlowShape = {
  steps: [PACK, ...['approve', 'gift', 'sign'].map((slug) => ({ ...PACK, slug, stepType: 'wait' as const }))],
}

export function start(changes: Partial<RunStart> = {}): RunStart {
  return { templateId: 'orders', workspaceId: 'acme', env: 'prod', input: { n: 1 }, definitionId: null, ...changes }
}

/** A run that is executing and nobody holds. */
export async function startRun(adapter: WorkflowStateAdapter, changes: Partial<RunStart> = {}): Promise<string> {
  const runId = randomUUID()
  await adapter.onRunStart(runId, start(changes))
  return runId
}

export interface HeldRun {
  readonly runId: string
  readonly claim: RunClaim
  /** Bound to the claim. */
  readonly bound: WorkflowStateAdapter
}

/** A run that is executing and held by a runner, without a queue. */
export async function heldRun(
  adapter: WorkflowStateAdapter,
  changes: Partial<RunStart> = {},
  runnerId = 'runner-a',
): Promise<HeldRun> {
  const runId = await startRun(adapter, changes)
  const claim = await adapter.writeLease(runId, runnerId, TTL_MS)
  return { runId, claim, bound: adapter.bind(claim) }
}

export async function definition(adapter: WorkflowStateAdapter, flowSlug = 'orders', hash = 'a'): Promise<string> {
  const { definitionId } = await adapter.saveDefinition({ flowSlug, shapeHash: hash.repeat(64), shape: SHAPE })
  return definitionId
}

export async function enqueue(adapter: QueueingStateAdapter, changes: Partial<EnqueueSpec> = {}): Promise<string> {
  const templateId = changes.templateId ?? 'orders'
  const definitionId = changes.definitionId ?? (await definition(adapter, templateId))
  const { runId } = await adapter.enqueueRun({ runId: randomUUID(), ...start(), ...changes, templateId, definitionId })
  return runId
}

export async function claim(
  adapter: QueueingStateAdapter,
  runnerId = 'runner-a',
  changes: Partial<ClaimArgs> = {},
): Promise<ClaimedRun | null> {
  const definitionIds = changes.definitionIds ?? [await definition(adapter)]
  return adapter.claimNextQueuedRun({ runnerId, leaseTtlMs: TTL_MS, ...changes, definitionIds })
}

/** A run that a runner has taken from the queue and executes. */
export async function claimedRun(
  adapter: QueueingStateAdapter,
  changes: Partial<EnqueueSpec> = {},
  runnerId = 'runner-a',
): Promise<HeldRun> {
  const runId = await enqueue(adapter, changes)
  return takeRun(adapter, runId, runnerId)
}

/** Takes the run, which must be the next one of the queue, and starts it. */
export async function takeRun(adapter: QueueingStateAdapter, runId: string, runnerId = 'runner-a'): Promise<HeldRun> {
  const claimed = await claim(adapter, runnerId)
  expect(claimed?.run.runId).toBe(runId)
  const bound = adapter.bind(claimed!.claim)
  await bound.onRunStart(runId, start({ definitionId: claimed!.run.definitionId }))
  return { runId, claim: claimed!.claim, bound }
}

/** A run that waits for `node`, given up by its runner. */
export async function pausedRun(
  adapter: QueueingStateAdapter,
  timeoutMs: number | null = null,
  node = 'approve',
): Promise<HeldRun> {
  const held = await claimedRun(adapter)
  await pause(held, timeoutMs, node)
  await held.bound.clearLease(held.runId)
  return held
}

/** What an engine writes when it enters a durable wait, but for the end of its lease. */
export async function pause(
  { bound, runId }: HeldRun,
  timeoutMs: number | null = null,
  node = 'approve',
): Promise<void> {
  await bound.onRunPaused(runId, { nodeIds: [node] })
  await bound.openWait(runId, { nodeId: node, timeoutMs })
  await bound.saveCheckpoint(runId, { variables: { colour: 'green' } })
}

export function beat(changes: Partial<RunnerBeat> = {}): RunnerBeat {
  return { runnerId: 'runner-a', definitionIds: [], ttlMs: TTL_MS, claims: [], capacity: 4, ...changes }
}

export async function readRun(adapter: WorkflowStateAdapter, runId: string): Promise<RunRecord> {
  const run = await adapter.readRun(runId)
  if (run === null) throw new Error(`Run ${runId} is not kept.`)
  return run
}

/** All that is kept of a run, to see that nothing of it has changed. */
export async function everythingOf(adapter: WorkflowStateAdapter, runId: string): Promise<unknown> {
  return {
    run: await adapter.readRun(runId),
    events: await adapter.readEvents(runId),
    waits: await adapter.readWaits(runId),
  }
}

export async function eventTypes(adapter: WorkflowStateAdapter, runId: string): Promise<string[]> {
  return (await adapter.readEvents(runId)).map(({ type }) => type)
}

export async function lastEvent(adapter: WorkflowStateAdapter, runId: string): Promise<RunEvent | undefined> {
  return (await adapter.readEvents(runId)).at(-1)
}

export const FAILURE = { name: 'TypeError', message: 'The parcel is empty.', stack: 'at pack', code: 'E42' }

/** Milliseconds between two instants. */
export function between(earlier: string | null, later: string | null): number {
  if (earlier === null || later === null) throw new Error(`There is no time between ${earlier} and ${later}.`)
  return Date.parse(later) - Date.parse(earlier)
}

/** Of a clock that may have gone on a little during the test. */
export function expectAbout(actualMs: number, expectedMs: number): void {
  expect(actualMs).toBeGreaterThanOrEqual(expectedMs)
  expect(actualMs).toBeLessThan(expectedMs + 10_000)
}
