import { StarflowError } from '@starflow/errors'
import { databaseReason } from './database-reason.ts'
import { exactInput } from './exact-input.ts'
import { EXTEND_AFTER_PART, FORGIVEN_MAX_DELAY_SECONDS, MAX_FORGIVEN } from './numbers.ts'
import { abandonedMessageError, retryDelay } from './retry-policy.ts'
import type { QueueSubscription } from './subscription.ts'
import { messageContext } from './task-context.ts'
import type { AttemptReport, TaskToGiveBack } from './task-outcome.ts'
import type { ClaimAnswer, ClaimedWork, RefusedReport, Work } from './work.ts'
import type { MessageIdentity } from './work-identity.ts'
import type { WorkResources } from './work-resources.ts'
import type { ClaimedMessage, MessageReport } from './worker-sql.ts'

/**
 * The messages of a queue without a flow. Whoever reads a message holds it for the visibility timeout, and this worker
 * extends that by a timer for as long as it has the message: while its handler runs, and until its end is told.
 *
 * The retry rules are the worker's: it says of a failed message whether it is tried again, and when, or is dead.
 */
export class QueueWork implements Work {
  readonly #subscription: QueueSubscription
  readonly #resources: WorkResources
  readonly #held = new Map<string, HeldMessage>()
  readonly #extendEveryMs: number
  #timer: ReturnType<typeof setInterval> | undefined
  #isExtending = false
  #queueName: string | undefined

  constructor(subscription: QueueSubscription, resources: WorkResources) {
    this.#subscription = subscription
    this.#resources = resources
    this.#extendEveryMs = resources.settings.visibilityTimeout * 1000 * EXTEND_AFTER_PART
  }

  async open(): Promise<string> {
    this.#queueName = await this.#resources.sql.findWorkerQueue(this.#subscription.queueName)
    return this.#queueName
  }

  async settleAndClaim(reports: readonly AttemptReport[], qty: number): Promise<ClaimAnswer> {
    const answer = await this.#tell(reports.map(this.#report), qty)
    for (const message of answer.claimed) this.#hold(message)
    return { ...answer, unsupported: [], halted: false, stalled: 0, suspects: 0 }
  }

  async settle(reports: readonly AttemptReport[]): Promise<readonly RefusedReport[]> {
    return (await this.#tell(reports.map(this.#report), 0)).refused
  }

  async heldUp(): Promise<readonly AttemptReport[]> {
    return []
  }

  async release(messages: readonly TaskToGiveBack[]): Promise<void> {
    await this.#tell(
      (messages as readonly (MessageIdentity & TaskToGiveBack)[]).map(({ messageId, attempt, started }) =>
        started
          ? this.#failed(
              { messageId, attempt },
              { errorMessage: 'The worker shut down before the handler ended', error: { name: 'WorkerShutdown' } },
              0,
            )
          : { messageId, attempt, status: 'released' },
      ),
      0,
    )
  }

  async recoverStalled(): Promise<void> {}

  timeoutSeconds(): number | undefined {
    return this.#subscription.timeoutSeconds
  }

  timeoutError(): StarflowError {
    const { timeoutSeconds } = this.#subscription
    return new StarflowError({
      code: 'SF407',
      message: `The handler did not end within its timeout of ${timeoutSeconds} s.`,
      detail: 'Its signal was aborted, and whatever it still returns is dropped.',
      hint: "Raise the worker's timeout, or pass ctx.signal to what the handler waits for.",
      fields: { timeoutSeconds },
    })
  }

  async invoke(item: ClaimedWork, signal: AbortSignal): Promise<unknown> {
    const message = item as ClaimedMessage
    const budget = this.#subscription.retry.limit + 1
    if (countedAttempt(message) > budget) throw abandonedMessageError(countedAttempt(message) - 1)
    const { supabase, platform, handlersSql, settings, shutdownSignal, emit } = this.#resources
    const loading = supabase.ready()
    if (loading !== undefined) await loading
    const lost = this.#held.get(keyOf(message))?.lost.signal
    const lent = handlersSql.lend(signal)
    try {
      return await this.#subscription.handler(
        exactInput(message.message),
        messageContext(message, lost === undefined ? signal : AbortSignal.any([signal, lost]), {
          env: platform.env,
          sql: () => lent.sql,
          supabase: () => supabase.client(),
          shutdownSignal,
          workerConfig: settings,
          emit,
        }),
      )
    } finally {
      lent.giveBack()
    }
  }

  /** A message that is lost is noticed when its visibility is extended. */
  async lost(): Promise<ReadonlyMap<ClaimedWork, Error>> {
    return new Map()
  }

  /** Nothing is kept of what a queue's handler returns. */
  serialise(): string {
    return ''
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#held.clear()
  }

  /** What has been told is no longer held, whatever the answer; what could not be told is. */
  async #tell(reports: readonly MessageReport[], qty: number) {
    const { sql, workerId, settings } = this.#resources
    const told = reports.flatMap((report) => this.#held.get(keyOf(report)) ?? [])
    // A late extension would overtake the delay of a retry.
    for (const message of told) message.isBeingTold = true
    try {
      const answer = await sql.settleAndReadMessages({
        workerId,
        queueName: this.#openQueue(),
        reports,
        qty,
        visibilityTimeout: settings.visibilityTimeout,
      })
      for (const message of told) this.#drop(message)
      return answer
    } finally {
      for (const message of told) message.isBeingTold = false
    }
  }

  readonly #report = (report: AttemptReport): MessageReport => {
    // Only messages are claimed here.
    const { messageId, attempt } = report as MessageIdentity
    if (report.status === 'completed') return { messageId, attempt, status: 'completed' }
    return this.#failed({ messageId, attempt }, report, report.retryDelaySeconds)
  }

  /** A retry where one is left, else the end. `chosenDelay`: the handler's own, which adds no attempt. */
  #failed(
    identity: MessageIdentity,
    failure: Pick<AttemptReport & { status: 'failed' }, 'errorMessage' | 'error' | 'permanent' | 'forgiven'>,
    chosenDelay?: number,
  ): MessageReport {
    const { retry } = this.#subscription
    const held = this.#held.get(keyOf(identity))
    const forgivenCount = held?.forgivenCount ?? 0
    if (failure.forgiven === true && retry.limit > 0 && forgivenCount < MAX_FORGIVEN)
      return {
        ...identity,
        status: 'released',
        retryDelaySeconds: Math.min(2 ** forgivenCount, FORGIVEN_MAX_DELAY_SECONDS),
      }
    const ruled = retryDelay(retry, countedAttempt({ ...identity, forgivenCount }))
    if (ruled === undefined || failure.permanent === true) {
      const { errorMessage, error } = failure
      return { ...identity, status: 'dead', errorMessage, ...(error === undefined ? {} : { error }) }
    }
    return { ...identity, status: 'retry', retryDelaySeconds: Math.round(chosenDelay ?? ruled) }
  }

  #hold({ messageId, attempt, forgivenCount }: ClaimedMessage): void {
    const message = { messageId, attempt, forgivenCount, isBeingTold: false, lost: new AbortController() }
    // This worker itself may be the one that reads again what it could not extend in time.
    for (const other of this.#held.values()) if (other.messageId === messageId) this.#lose(other)
    this.#held.set(keyOf(message), message)
    this.#timer ??= setInterval(() => void this.#extend(), this.#extendEveryMs)
  }

  #drop(message: HeldMessage): void {
    this.#held.delete(keyOf(message))
    if (this.#held.size > 0) return
    // An idle worker has no timer for this.
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #extend(): Promise<void> {
    const messages = [...this.#held.values()].filter(({ isBeingTold, lost }) => !isBeingTold && !lost.signal.aborted)
    if (this.#isExtending || messages.length === 0) return
    this.#isExtending = true
    const { sql, settings, emit } = this.#resources
    try {
      const extended = new Set(await sql.extendMessages(this.#openQueue(), messages, settings.visibilityTimeout))
      for (const message of messages) {
        const isStillHere = this.#held.has(keyOf(message)) && !message.isBeingTold
        if (isStillHere && !extended.has(message.messageId)) this.#lose(message)
      }
    } catch (error) {
      emit({ level: 'warn', event: 'visibility.failed', reason: databaseReason(error), messages: messages.length })
    } finally {
      this.#isExtending = false
    }
  }

  #lose(message: HeldMessage): void {
    const { messageId, attempt, lost } = message
    if (lost.signal.aborted) return
    this.#resources.emit({ level: 'warn', event: 'message.lost', messageId, attempt })
    lost.abort(lostMessageError(messageId))
  }

  #openQueue(): string {
    if (this.#queueName === undefined) throw new Error('Nothing can be claimed before the queue is known.')
    return this.#queueName
  }
}

interface HeldMessage extends MessageIdentity {
  readonly forgivenCount: number
  /** Aborted when somebody else has the message now: what its handler still does counts for nothing. */
  readonly lost: AbortController
  isBeingTold: boolean
}

const keyOf = ({ messageId, attempt }: MessageIdentity) => `${messageId}/${attempt}`

/** The number of the attempt as the retry rules count it. */
function countedAttempt({ attempt, forgivenCount }: { attempt: number; forgivenCount: number }): number {
  return attempt - forgivenCount
}

function lostMessageError(messageId: string): StarflowError {
  return new StarflowError({
    code: 'SF413',
    message: `Message ${messageId} is held by another worker now.`,
    detail: 'Its visibility could not be extended in time: the database was away, or the event loop was blocked.',
    hint: 'Raise visibilityTimeout above the longest time for which the handler blocks.',
    fields: { messageId },
  })
}
