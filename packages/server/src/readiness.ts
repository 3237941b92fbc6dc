/** Whether this process takes part: what `/readyz` answers, and a proxy goes by. */
export class Readiness {
  #state: 'starting' | 'ready' | 'draining' = 'starting'

  get state(): 'starting' | 'ready' | 'draining' {
    return this.#state
  }

  ready(): void {
    if (this.#state === 'starting') this.#state = 'ready'
  }

  /** For good: a process that drains ends. */
  drain(): void {
    this.#state = 'draining'
  }
}
