import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnyFlow } from '@starflow/dsl'
import {
  ENDED_STATUSES,
  Engine,
  type EngineEvent,
  LEASE_TTL_MS,
  MAX_RUNNER_LOSSES,
  type RunRecord,
  type WaitHost,
} from '@starflow/engine'
import { isStarflowError, StarflowError } from '@starflow/errors'
import type { RunStore } from './run-store.ts'

export interface ExecutionParts {
  readonly store: RunStore
  readonly flow: AnyFlow
  readonly runId: string
  /** Stay while it waits, instead of leaving it. */
  readonly stay: boolean
  /** Aborted when the process was asked to end. */
  readonly interruption: AbortSignal
  readonly engine: Engine
  /** Shows a line to the person who watches. */
  readonly note: (text: string) => void
}

/** How often it is looked whether a run that cannot go on now can. */
const LOOK_INTERVAL_MS = 500
const SWEEP = { ttlMs: LEASE_TTL_MS, maxLosses: MAX_RUNNER_LOSSES, reason: 'runner_lost' }

/** An engine of this process on a store. Tokens of waits are handed to `onToken`. */
export function createEngine(
  { adapter, resources, waitTokenKey }: RunStore,
  flow: AnyFlow,
  options: {
    readonly onToken: (stepSlug: string, token: string) => void
    readonly onEvent: (event: EngineEvent) => void
    readonly shutdownSignal: AbortSignal
  },
): Engine {
  const { onEvent, shutdownSignal } = options
  const waits = flow.stepOrder.some((slug) => flow.getStepDefinition(slug).stepType === 'wait')
  const tokenKey = waits ? waitTokenKey() : undefined
  const waitHost: WaitHost | undefined = tokenKey && {
    tokenKey,
    emitWaitWake: async ({ nodeId, token }) => options.onToken(nodeId, token),
  }
  const runnerId = `cli@${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  return new Engine({ adapter, ...resources, waitHost, runnerId, onEvent, shutdownSignal })
}

/**
 * Executes an existing run from where it stands until it has ended, waits for an answer, or this process is asked to end: then the
 * run is given back with what it has done. Returns it as it stands.
 *
 * @throws StarflowError SF641 when a live runner executes it, and what the engine refuses
 */
export async function executeRun(parts: ExecutionParts): Promise<RunRecord> {
  const { store, flow, runId, interruption, engine, stay, note } = parts
  const { adapter } = store
  let toldOfDelay = false
  for (;;) {
    const run = await requireRun(store, runId)
    if (hasEnded(run) || interruption.aborted) return run
    if (run.leasedBy !== null) {
      await untilGivenUp(parts, run)
    } else if (run.claimState === 'paused') {
      // A timeout that has come is for the sweep to find.
      await adapter.expireOldLeases(SWEEP)
      const now = await requireRun(store, runId)
      if (now.claimState !== 'paused') continue
      if (!stay) return now
      await pause(interruption)
    } else if (isDelayed(run)) {
      if (!toldOfDelay) note(`Goes on at ${run.availableAt}.`)
      toldOfDelay = true
      await pause(interruption)
    } else {
      toldOfDelay = false
      await takeUp(engine, flow, run, interruption)
    }
  }
}

/** @throws StarflowError SF802 */
export async function requireRun({ adapter, place }: Pick<RunStore, 'adapter' | 'place'>, runId: string) {
  const run = await adapter.readRun(runId)
  if (run !== null) return run
  throw new StarflowError({
    code: 'SF802',
    message: `Run ${runId} does not exist.`,
    detail: `Looked in ${place}, which the environment names.`,
    hint: 'See the runs there are: npx starflow runs list. One with the placement queue is of its workers: npx starflow runs watch <run>',
    fields: { runId },
  })
}

function hasEnded({ status }: RunRecord): boolean {
  return ENDED_STATUSES.includes(status)
}

async function takeUp(engine: Engine, flow: AnyFlow, run: RunRecord, drainSignal: AbortSignal): Promise<void> {
  const { runId, workspaceId, env, input } = run
  try {
    await engine.run(flow as never, input as never, { runId, workspaceId, env, drainSignal })
  } catch (error) {
    // Somebody else was quicker, or it was cancelled meanwhile: it is looked at again.
    if (!isStarflowError(error, 'SF801')) throw error
  }
}

/** A delayed run that has not begun may be started early by its id. */
function isDelayed({ startedAt, availableAt, claimState }: RunRecord): boolean {
  return startedAt !== null && claimState === 'queued' && availableAt !== null && Date.parse(availableAt) > Date.now()
}

/** A lease that is not renewed runs out, and the sweep takes the run from its runner; one that is renewed has a live runner. */
async function untilGivenUp({ store, runId, interruption, note }: ExecutionParts, held: RunRecord): Promise<void> {
  note(
    `Run ${runId} is held by ${held.leasedBy}, until its lease of ${LEASE_TTL_MS / 1000} s is over. Waiting for that …`,
  )
  for (;;) {
    await store.adapter.expireOldLeases(SWEEP)
    const run = await requireRun(store, runId)
    if (run.leasedBy !== held.leasedBy || run.claimAttempts !== held.claimAttempts || interruption.aborted) return
    if (run.leaseUntil !== held.leaseUntil) throw heldByLiveRunner(run)
    await pause(interruption)
  }
}

function heldByLiveRunner({ runId, leasedBy }: RunRecord): StarflowError {
  return new StarflowError({
    code: 'SF641',
    message: `Run ${runId} is being executed by ${leasedBy}.`,
    detail: 'That runner is alive: it has just renewed its lease.',
    hint: `Watch it: npx starflow runs watch ${runId}`,
    fields: { runId, leasedBy },
  })
}

export async function pause(signal: AbortSignal): Promise<void> {
  await sleep(LOOK_INTERVAL_MS, undefined, { signal }).catch(() => {})
}
