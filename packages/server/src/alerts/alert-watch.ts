import { setTimeout as pause } from 'node:timers/promises'
import { errorFields, type LogFields, type ServerLog } from '../log.ts'
import {
  ALERT_INTERVAL_MS,
  ALERT_LEASE_MS,
  ALERT_PRUNE_INTERVAL_MS,
  ALERT_RESOLVE_AFTER_MS,
  ALERT_RETENTION_MS,
  ALERT_RETRY_MS,
  MAX_ALERT_ATTEMPTS,
  MAX_ALERT_RETRY_MS,
} from '../numbers.ts'
import type { Service } from '../service.ts'
import type { AlertLook, AlertOutcome, AlertStore, ProblemChange, TakenMessage } from '../store/alert-store.ts'
import { ALERT_RULES, type AlertDeclarations } from './alert-declarations.ts'
import { alertBody } from './alert-message.ts'
import { activeRules } from './alert-rules.ts'
import { type AlertRequest, alertRequest, sendAlert } from './alert-sender.ts'

export interface AlertWatchOptions {
  readonly alerts: AlertDeclarations
  readonly store: AlertStore
  readonly databaseId: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: ServerLog
  readonly now: () => number
  /** Default: {@link sendAlert}. */
  readonly send?: (request: AlertRequest) => ReturnType<typeof sendAlert>
}

/**
 * Looks for problems every few seconds, beside any number of others that do the same, and sends what is to be told.
 *
 * The database is the authority: whose call has found a change writes it together with whom to tell, so that a process that ends
 * right then costs nothing, and a message is taken by one process at a time. One that ends after a receiver has taken a message and before
 * that is written makes it come twice, under the same `webhook-id`.
 */
export class AlertWatch implements Service {
  readonly name = 'alerts'
  readonly #options: AlertWatchOptions
  readonly #look: AlertLook
  #stop: AbortController | undefined
  #loop: Promise<void> = Promise.resolve()
  #prunedAt = Number.NEGATIVE_INFINITY

  constructor(options: AlertWatchOptions) {
    const { alerts } = options
    this.#options = options
    this.#look = {
      rules: activeRules(alerts),
      webhooks: Object.fromEntries(
        Object.entries(alerts.webhooks).map(([name, { rules }]) => [name, rules ?? ALERT_RULES]),
      ),
      groupMs: alerts.groupSeconds * 1000,
      resolveAfterMs: ALERT_RESOLVE_AFTER_MS,
    }
  }

  start(): void {
    if (this.#stop !== undefined) return
    this.#stop = new AbortController()
    this.#loop = this.#run(this.#stop.signal)
  }

  async stop(): Promise<void> {
    this.#stop?.abort()
    await this.#loop
    this.#stop = undefined
  }

  /** Looks once, and sends what is due. */
  async look(): Promise<void> {
    const { store, log } = this.#options
    for (const change of await store.look(this.#look))
      log[change.change === 'opened' ? 'error' : 'info'](fieldsOf(change), `alert.${change.change}`)
    const taken = await store.takeMessages(Object.keys(this.#look.webhooks), ALERT_LEASE_MS)
    await Promise.all(taken.map((message) => this.#send(message)))
    if (performance.now() - this.#prunedAt > ALERT_PRUNE_INTERVAL_MS) {
      await store.pruneAlerts(ALERT_RETENTION_MS)
      this.#prunedAt = performance.now()
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look().catch((error: unknown) => this.#options.log.warn(errorFields(error), 'alerts.failed'))
      await pause(ALERT_INTERVAL_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #send(message: TakenMessage): Promise<void> {
    const { alerts, store, databaseId, env, log, now, send = sendAlert } = this.#options
    const { messageId, webhook, attempt } = message
    const body = alertBody(message, databaseId)
    const answer = await send(alertRequest(alerts.webhooks[webhook]!, { id: messageId, body, nowMs: now() }, env))
    const outcome: AlertOutcome = answer.isTaken ? { outcome: 'sent' } : afterFailure(attempt)
    await store.settleMessage(message, outcome)
    const fields = { webhook, messageId, attempt, problems: message.problems.length }
    if (answer.isTaken) log.info({ ...fields, status: answer.status }, 'alert.sent')
    else if (outcome.outcome === 'given_up') log.error({ ...fields, reason: answer.reason }, 'alert.given_up')
    else log.warn({ ...fields, reason: answer.reason }, 'alert.send_failed')
  }
}

function afterFailure(attempt: number): AlertOutcome {
  if (attempt >= MAX_ALERT_ATTEMPTS) return { outcome: 'given_up' }
  return { outcome: 'later', retryMs: Math.min(ALERT_RETRY_MS * 2 ** (attempt - 1), MAX_ALERT_RETRY_MS) }
}

function fieldsOf({ problemId, rule, subject, facts }: ProblemChange): LogFields {
  return { problemId, rule, subject, ...facts }
}
