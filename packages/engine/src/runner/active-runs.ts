import type { RunExecution, StopReason } from '../engine/run-execution.ts'
import type { RunClaim } from '../run-record.ts'

/** A run that this runner holds: from its claim until nothing of it goes on here. */
export class ActiveRun {
  readonly claim: RunClaim
  readonly #stopped = new AbortController()
  #execution: RunExecution | undefined
  #stopReason: StopReason | undefined

  constructor(claim: RunClaim) {
    this.claim = claim
  }

  /** Aborted when it is stopped. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  get isStopped(): boolean {
    return this.#stopReason !== undefined
  }

  /** It may have been stopped before it was taken up. */
  begin(execution: RunExecution): void {
    this.#execution = execution
    if (this.#stopReason !== undefined) execution.stop(this.#stopReason)
  }

  stop(reason: StopReason): void {
    this.#stopReason ??= reason
    this.#stopped.abort()
    this.#execution?.stop(reason)
  }
}

/** The runs of one runner: what its heartbeat renews, and what a drain waits for. */
export class ActiveRuns {
  readonly #runs = new Set<ActiveRun>()
  #idleWaiters: (() => void)[] = []

  get size(): number {
    return this.#runs.size
  }

  /** Those that are renewed: a run that was stopped is left to run out. */
  claims(): readonly RunClaim[] {
    return [...this.#runs].filter((run) => !run.isStopped).map((run) => run.claim)
  }

  add(run: ActiveRun): void {
    this.#runs.add(run)
  }

  remove(run: ActiveRun): void {
    this.#runs.delete(run)
    if (this.#runs.size > 0) return
    for (const wake of this.#idleWaiters.splice(0)) wake()
  }

  /** Stops the runs of these claims; gives those that were still going on. */
  lose(claims: readonly RunClaim[]): readonly RunClaim[] {
    const lost = [...this.#runs].filter(
      ({ claim, isStopped }) => !isStopped && claims.some((other) => isSameClaim(claim, other)),
    )
    for (const run of lost) run.stop('lost')
    return lost.map((run) => run.claim)
  }

  stopAll(): void {
    for (const run of this.#runs) run.stop('stopped')
  }

  /** Settles when there is none. */
  idle(): Promise<void> {
    if (this.#runs.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }
}

function isSameClaim(one: RunClaim, other: RunClaim): boolean {
  return one.runId === other.runId && one.claimAttempts === other.claimAttempts
}
