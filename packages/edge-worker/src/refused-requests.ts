import type { WorkerEventBody } from './events.ts'
import { REFUSAL_LOG_INTERVAL_MS } from './numbers.ts'
import type { WorkerEnvironment } from './worker-environment.ts'

/**
 * Tells the log of requests that were answered with 401. Their callers learn nothing, so that an operator whose pings carry
 * a wrong secret would else see a worker that never starts and no reason for it.
 */
export class RefusedRequests {
  readonly #secretsFrom: string
  readonly #emit: (event: WorkerEventBody) => void
  #requests = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(environment: Pick<WorkerEnvironment, 'secretsFrom'>, emit: (event: WorkerEventBody) => void) {
    this.#secretsFrom = environment.secretsFrom
    this.#emit = emit
  }

  /** Counts a request, of which nothing is looked at but whether it presented anything. */
  add(request: Request): void {
    this.#requests++
    const now = performance.now()
    if (now - this.#toldAt < REFUSAL_LOG_INTERVAL_MS) return
    const presented = request.headers.has('authorization') || request.headers.has('apikey')
    this.#emit({
      level: 'warn',
      event: 'request.unauthorised',
      code: 'SF417',
      message: presented
        ? `A request was refused: its secret is not the one that this function has from ${this.#secretsFrom}.`
        : 'A request was refused: it has no secret, neither as bearer token nor in the header apikey.',
      hint: `Give ensure_workers the same secret: in Vault, pgflow_auth_secret for STARFLOW_AUTH_SECRET, else supabase_service_role_key.`,
      requests: this.#requests,
    })
    this.#toldAt = now
    this.#requests = 0
  }
}
