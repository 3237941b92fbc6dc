import type { Json, JsonObject } from '@starflow/dsl'
import type { PlannedStep } from '../engine/flow-plan.ts'
import type { OpenWait, StateEvent } from '../engine/run-state.ts'
import { WAIT_TOKEN_LIFE_MS } from '../numbers.ts'
import type { RunFailure, WaitPending } from '../run-record.ts'
import type { WaitRecord, WorkflowStateAdapter } from '../state-adapter.ts'
import { signWaitToken, type WaitTokenKey } from './wait-token.ts'

/** Who is told that a run waits, and how tokens are signed. */
export interface WaitHost {
  readonly tokenKey: WaitTokenKey
  /**
   * Registers the wake from outside: sends the mail, calls the webhook, shows the inbox entry. Called once per wait, and again
   * only when a process died around it or the call failed; so it may be repeated.
   */
  emitWaitWake(wake: WaitWake): Promise<void>
}

/** What whoever resumes the wait has to know. */
export interface WaitWake {
  readonly runId: string
  readonly flowSlug: string
  /** The slug of the wait. */
  readonly nodeId: string
  readonly workspaceId: string
  readonly env: string
  /** Null: it stays open for ever. */
  readonly timeoutMs: number | null
  /** Resumes this wait and no other. */
  readonly token: string
}

export interface DurableWaitParts {
  readonly run: { readonly runId: string; readonly workspaceId: string; readonly env: string }
  readonly flowSlug: string
  readonly waits: readonly OpenWait[]
  /** Bound to the claim. */
  readonly adapter: WorkflowStateAdapter
  readonly waitHost: WaitHost
  /** By the database's clock: whoever checks a token compares it with that. */
  readonly nowMs: () => number
  readonly variables: JsonObject
  readonly phase: string | undefined
  readonly write: <T>(method: string, call: () => Promise<T>) => Promise<T>
  readonly apply: (event: Omit<StateEvent, 'atMs'>) => void
}

/**
 * Pauses a run for its open waits. The order is an invariant, and `tests/wait-checkpoint-before-wake.test.ts` holds it:
 *
 * 1. the pending envelope is set among the variables
 * 2. each node waits
 * 3. the run is paused, and its waits are open
 * 4. the checkpoint is kept
 * 5. the phase is recorded
 * 6. whoever resumes is told
 *
 * The wake is last because a resume may come as soon as somebody knows of the wait: it then finds a run that is paused, with all
 * that it needs to go on. Dying between any two steps leaves a lease that runs out; whoever takes the run over enters again,
 * and each step has the effect of one.
 *
 * Returns the waits that were over already: resumed early, or while the run was being taken over.
 */
export async function enterDurableWait(parts: DurableWaitParts): Promise<readonly WaitRecord[]> {
  const { run, waits, adapter, write, apply } = parts
  const { runId } = run
  const pending: WaitPending = { nodes: waits.map(({ step }) => step.slug) }
  const checkpoint = { variables: { ...parts.variables, __celestialWait: { ...pending } } }

  for (const { step, attempt, wasEntered } of waits) {
    if (wasEntered) continue
    await write('onNodeStart', () => adapter.onNodeStart(runId, step.slug, { attempt }))
    apply({ type: 'node_start', nodeId: step.slug, payload: { attempt } })
  }

  await write('onRunPaused', () => adapter.onRunPaused(runId, { nodeIds: pending.nodes }))
  apply({ type: 'run_paused', nodeId: null, payload: { nodes: pending.nodes } })
  const over: WaitRecord[] = []
  for (const { step } of waits) {
    const record = await write('openWait', () =>
      adapter.openWait(runId, { nodeId: step.slug, timeoutMs: timeoutMsOf(step) }),
    )
    if (record.status !== 'open') over.push(record)
  }

  await write('saveCheckpoint', () => adapter.saveCheckpoint(runId, checkpoint))
  await write('recordPhaseIfChanged', () => adapter.recordPhaseIfChanged(runId, parts.phase ?? 'waiting'))

  for (const { step, wasAnnounced } of waits) {
    if (wasAnnounced || over.some((record) => record.nodeId === step.slug)) continue
    const wake = wakeOf(parts, step)
    await write('emitWaitWake', () => parts.waitHost.emitWaitWake(wake))
  }
  return over
}

function wakeOf({ run, flowSlug, waitHost, nowMs }: DurableWaitParts, step: PlannedStep): WaitWake {
  const { runId, workspaceId, env } = run
  const timeoutMs = timeoutMsOf(step)
  // Longer than the wait is open, as in SQL: who comes too late is told so, and a retry opens the wait again.
  const expiresAt = (nowMs() + (timeoutMs ?? 0) + WAIT_TOKEN_LIFE_MS) / 1000
  const token = signWaitToken({ placement: 'runner', runId, stepSlug: step.slug, expiresAt }, waitHost.tokenKey)
  return { runId, flowSlug, nodeId: step.slug, workspaceId, env, timeoutMs, token }
}

/** What a wait has come to; undefined while it is open. */
export function settledWait(
  record: WaitRecord,
  step: PlannedStep,
): { readonly ok: true; readonly payload: Json } | { readonly ok: false; readonly failure: RunFailure } | undefined {
  if (record.status === 'resumed') return { ok: true, payload: record.payload }
  if (record.status !== 'timed_out') return undefined
  const message = `Wait "${step.slug}" was not resumed within its timeout of ${step.timeoutSeconds} s.`
  return { ok: false, failure: { name: 'WaitTimeoutError', code: 'SF814', message } }
}

function timeoutMsOf(step: PlannedStep): number | null {
  return step.timeoutSeconds === undefined ? null : step.timeoutSeconds * 1000
}
