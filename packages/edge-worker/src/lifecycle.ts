/**
 * The states of every worker, whatever it subscribes to.
 *
 * - `created`: known, nothing begun
 * - `starting`: compiles, finds its queue, registers
 * - `running`: claims and executes
 * - `deprecated`: claims nothing more, finishes what is started; a fresh worker may take over
 * - `stopping`: handlers have the shutdown grace, then the last calls are made
 * - `stopped`: has said so to the database, holds nothing; for good
 */
export type LifecycleState = 'created' | 'starting' | 'running' | 'deprecated' | 'stopping' | 'stopped'

const TRANSITIONS = {
  created: ['starting', 'stopped'],
  starting: ['running', 'stopping', 'stopped'],
  running: ['deprecated', 'stopping'],
  deprecated: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
} as const satisfies Record<LifecycleState, readonly LifecycleState[]>

/** One worker's place in its life. Only {@link Lifecycle.transition} moves it, and only along the table. */
export class Lifecycle {
  #state: LifecycleState = 'created'
  readonly #onTransition: (from: LifecycleState, to: LifecycleState) => void

  constructor(onTransition: (from: LifecycleState, to: LifecycleState) => void = () => {}) {
    this.#onTransition = onTransition
  }

  get state(): LifecycleState {
    return this.#state
  }

  /** True while new work may be claimed. */
  get isClaiming(): boolean {
    return this.#state === 'running'
  }

  can(to: LifecycleState): boolean {
    return (TRANSITIONS[this.#state] as readonly LifecycleState[]).includes(to)
  }

  /** Moves to `to`. A move that the table does not have is a bug of ours and throws. */
  transition(to: LifecycleState): void {
    if (!this.can(to)) throw new Error(`A worker cannot go from ${this.#state} to ${to}.`)
    const from = this.#state
    this.#state = to
    this.#onTransition(from, to)
  }
}
