import type { Json } from '@starflow/dsl'
import type { RunEvent } from '@starflow/engine'
import { MAX_SHOWN_ATTEMPTS } from '../numbers.ts'
import { inlined } from './json-size.ts'
import type { AttemptOutcome, AttemptView } from './run-placement.ts'

export type NodeStatus = 'created' | 'queued' | 'started' | 'completed' | 'failed' | 'skipped' | 'cancelled'

/** What happened to one node of a run (a step, or an element of a map), as the events of its log tell it. */
export class NodeLog {
  status: NodeStatus = 'created'
  attempts: AttemptView[] = []
  /** Attempts that were made, beyond those that are kept. */
  attemptCount = 0
  endedAt: string | null = null
  /** When it is tried again. */
  dueAt: string | null = null
  skipReason: string | null = null
  failure: Pick<AttemptView, 'error' | 'errorName' | 'errorStack'> = NO_FAILURE
  output: Json = null
  outputBytes: number | null = null
  /** How many elements its output has; undefined of what is no array. */
  outputLength: number | undefined

  get startedAt(): string | null {
    return this.attempts[0]?.startedAt ?? null
  }

  apply({ type, createdAt, payload }: RunEvent): void {
    switch (type) {
      case 'node_start':
        this.#start(Number(payload?.attempt ?? 1), createdAt)
        break
      case 'node_retry':
        this.#fail('queued', payload?.error, createdAt)
        this.dueAt = typeof payload?.due_at === 'string' ? payload.due_at : null
        break
      case 'node_error':
        this.#fail('failed', payload?.error, createdAt)
        this.endedAt = createdAt
        break
      case 'node_complete':
        this.#complete(payload?.output ?? null, createdAt)
        break
      case 'node_skip':
        this.cutOff('skipped', createdAt)
        Object.assign(this, { status: 'skipped', endedAt: createdAt, skipReason: String(payload?.reason ?? '') })
        break
    }
  }

  /** Its attempt ends without a report of its own. */
  cutOff(outcome: AttemptOutcome, at: string): void {
    if (this.status !== 'started') return
    this.#end(outcome, at, NO_FAILURE)
    this.status = outcome === 'cancelled' ? 'cancelled' : 'queued'
  }

  /** What a retry of the run does to it: what has completed stays. */
  reopen(): void {
    if (this.status === 'completed') return
    Object.assign(this, { status: 'created', endedAt: null, dueAt: null, skipReason: null, failure: NO_FAILURE })
  }

  #start(attempt: number, at: string): void {
    const last = this.attempts.at(-1)
    this.status = 'started'
    this.dueAt = null
    this.attemptCount = Math.max(this.attemptCount, attempt)
    // Whoever repeats a write that may have been made begins no further attempt.
    if (last?.attempt === attempt && last.outcome === 'running') return
    const begun = { attempt, outcome: 'running', worker: null, function: null, startedAt: at, endedAt: null } as const
    this.attempts = [...this.attempts.slice(1 - MAX_SHOWN_ATTEMPTS), { ...begun, ...NO_FAILURE }]
  }

  #fail(status: NodeStatus, error: Json | undefined, at: string): void {
    this.failure = failureOf(error)
    this.#end('failed', at, this.failure)
    this.status = status
  }

  #complete(output: Json, at: string): void {
    const { value, bytes } = inlined(output)
    this.#end('completed', at, NO_FAILURE)
    Object.assign(this, { status: 'completed', endedAt: at, failure: NO_FAILURE, output: value, outputBytes: bytes })
    this.outputLength = Array.isArray(output) ? output.length : undefined
  }

  #end(outcome: AttemptOutcome, at: string, failure: NodeLog['failure']): void {
    const last = this.attempts.at(-1)
    if (last?.outcome === 'running') this.attempts.splice(-1, 1, { ...last, outcome, endedAt: at, ...failure })
  }
}

const NO_FAILURE = { error: null, errorName: null, errorStack: null } as const

function failureOf(error: Json | undefined): NodeLog['failure'] {
  if (typeof error === 'string') return { ...NO_FAILURE, error }
  const { name, message, stack } = (error ?? {}) as Readonly<Record<string, unknown>>
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return { error: text(message), errorName: text(name), errorStack: text(stack) }
}
