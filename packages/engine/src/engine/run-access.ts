import { type Json, toJsonText, type WorkerJob } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { WorkflowStateAdapter } from '../state-adapter.ts'
import type { Clock } from './clock.ts'
import type { DurableWrites } from './durable-writes.ts'
import { checkVariableKey } from './reserved-variables.ts'
import type { RunState, StateEvent } from './run-state.ts'
import { contextUnavailable, type RunStateAccess } from './step-context.ts'
import { doWorkerJob } from './worker-job.ts'

export interface RunAccessParts {
  readonly runId: string
  readonly nodeId: string
  /** Sessions of different tenants never meet. */
  readonly workspaceId: string
  readonly env: string
  readonly adapter: WorkflowStateAdapter
  readonly clock: Clock
  /** The attempt's. */
  readonly signal: AbortSignal
  readonly writes: DurableWrites
  readonly state: RunState
  /** Applies what was written. */
  readonly apply: (event: Omit<StateEvent, 'atMs'>) => void
  /** Whether the attempt has ended: what it still writes would be nobody's. */
  readonly isOver: () => boolean
}

/** The durable state of a run as one attempt of a node reaches it. */
export function runAccess(parts: RunAccessParts): RunStateAccess {
  const { runId, nodeId, adapter, writes, state, apply } = parts

  async function write<T>(name: string, method: string, call: () => Promise<T>): Promise<T> {
    if (parts.isOver()) throw contextUnavailable(name, 'the attempt has ended')
    return await writes.write(method, call)
  }
  const scoped = (sessionId: string | undefined) =>
    `${parts.workspaceId}/${parts.env}/${sessionId === undefined ? `run:${runId}` : `session:${sessionId}`}`

  return {
    getVariable: (key) => structuredClone(state.variables.get(key)),
    async setVariable(key, value) {
      checkVariableKey(key)
      const json = toJson(value)
      await write('variables', 'onVariableSet', () => adapter.onVariableSet(runId, key, json))
      apply({ type: 'variable', nodeId: null, payload: { key, value: json } })
    },
    async setPhase(name) {
      if (typeof name !== 'string' || name === '') throw invalidArgument('ctx.phase takes the name of a phase.')
      await write('phase', 'recordPhaseIfChanged', () => adapter.recordPhaseIfChanged(runId, name))
      apply({ type: 'phase', nodeId: null, payload: { phase: name } })
    },
    async reportProgress(value) {
      const json = toJson(value)
      await write('progress', 'onStepProgress', () => adapter.onStepProgress(runId, nodeId, json))
    },
    doWorkerJob(job: WorkerJob) {
      const { clock, signal } = parts
      const given = { ...job, payload: toJson(job.payload) }
      return doWorkerJob(given, {
        ...{ runId, nodeId, adapter, clock, signal },
        write: (method, call) => write('workerJob', method, call),
      })
    },
    getSession: (sessionId, key) => write('session', 'sessionGet', () => adapter.sessionGet(scoped(sessionId), key)),
    async setSession(sessionId, key, value, keepUntil) {
      const json = toJson(value)
      // From this clock and back to it: how far it is off cancels out.
      const keepForMs = keepUntil === undefined ? undefined : keepUntil.getTime() - Date.now()
      if (keepForMs !== undefined && !(keepForMs > 0)) throw invalidArgument('keepUntil has to be in the future.')
      const options = keepForMs === undefined ? { runId } : { runId, keepForMs }
      await write('session', 'sessionSet', () => adapter.sessionSet(scoped(sessionId), key, json, options))
    },
  }
}

function toJson(value: unknown): Json {
  return JSON.parse(toJsonText(value)) as Json
}

function invalidArgument(message: string): StarflowError {
  return new StarflowError({ code: 'SF001', message, detail: 'Nothing was changed.', hint: 'Correct the argument.' })
}
