import { describeError } from '@starflow/errors'
import { databaseReason, isDataError, isLockTimeout, isSubscriptionGone } from './database-reason.ts'
import type { WorkerEventBody } from './events.ts'
import {
  DATABASE_BACKOFF_LEAVING_MS,
  DATABASE_BACKOFF_MAX_MS,
  DATABASE_BACKOFF_MIN_MS,
  HELD_RUN_RETRY_MAX_MS,
  HELD_RUN_RETRY_MIN_MS,
  SETTLE_COALESCE_COUNT,
  SETTLE_COALESCE_MIN_MS,
  SETTLE_COALESCE_MS,
  UNSUPPORTED_WARNINGS_KEPT,
} from './numbers.ts'
import type { Cohabitant, Solitude } from './solitude.ts'
import { type AttemptReport, failedReport, type TaskOutcome, type TaskToGiveBack } from './task-outcome.ts'
import { Waker } from './waker.ts'
import type { ClaimAnswer, ClaimedWork, RefusedReport, WorkSource } from './work.ts'
import { attemptOf, subjectOf } from './work-identity.ts'
import type { UnsupportedMessage, WorkerState } from './worker-sql.ts'

export interface PollerOptions {
  readonly source: WorkSource
  readonly maxConcurrent: number
  readonly batchSize: number
  readonly pollIntervalMs: number
  readonly maxPollIntervalMs: number
  /** How many handlers run now. */
  readonly activeCount: () => number
  /** Shared by the workers of this isolate or process. */
  readonly solitude: Solitude
  /** Takes a claimed task; called only while this poller claims. */
  readonly onClaimed: (task: ClaimedWork) => void
  /** A claim that was sent at this instant was answered: a sign of life that the database has. */
  readonly onAnswered?: (sentAt: number) => void
  /** What the database says of this worker, when that is not `running`. */
  readonly onState: (state: Exclude<WorkerState, 'running'> | 'halted' | 'refused') => void
  readonly emit: (event: WorkerEventBody) => void
}

/**
 * The one loop between a worker and its queue. Each turn is one round trip on one connection: it settles what has
 * finished and claims as many tasks as there are free slots, never more. Turns never overlap, so reports and claims of a
 * worker arrive in order.
 *
 * Pace: at once when something finished or a full batch came, else 20 ms doubling to 1 s. A finished task waits a few
 * milliseconds for others, but only while others run and only until a handful have come.
 *
 * Suspects: a task whose worker vanished while it ran it may have been the cause. It is claimed only while this isolate or process holds
 * nothing else, and nothing else is claimed until it has ended: a crash then costs no neighbour.
 *
 * Held runs: a report whose run another transaction holds is set aside until that run is free; all else goes on.
 *
 * Failures: reports stay until the database has answered them; a repeated one is refused there and changes nothing. A
 * report that the database cannot store is found by settling one by one, replaced by a failure, and at last left to
 * recovery: it never holds up the others.
 */
export class Poller {
  readonly #options: PollerOptions
  readonly #waker = new Waker()
  #reports: AttemptReport[] = []
  /** Reports whose runs another transaction holds, and when to look again. */
  #heldUp: AttemptReport[] = []
  #heldRetryMs = HELD_RUN_RETRY_MIN_MS
  #heldLookAt = 0
  #releases: TaskToGiveBack[] = []
  #claiming = true
  #ended = false
  #failures = 0
  #sawStalled = false
  /** `sought`: one was met; `held`: it is here, and nothing else is. */
  #suspect: 'none' | 'sought' | 'held' = 'none'
  #isClaiming = false
  readonly #self: Cohabitant = {
    isBusy: () => this.#isClaiming || this.#options.activeCount() > 0,
    wake: () => this.#waker.wake(),
  }
  /** Reports up to this count at the head of the queue may have arrived already. */
  #maybeArrived = 0
  #idleDelayMs: number
  #loop: Promise<void> | undefined
  #afterTurn: (() => void)[] = []
  readonly #warnedMessages = new Set<string>()
  /** Calls made on the hot path, for figures per task. */
  databaseCalls = 0
  acceptedReports = 0
  unsupportedCount = 0

  constructor(options: PollerOptions) {
    this.#options = options
    this.#idleDelayMs = options.pollIntervalMs
  }

  /** Starts the loop; again is fine. */
  start(): void {
    this.#options.solitude.join(this.#self)
    this.#loop ??= this.#run().finally(() => this.#options.solitude.leave(this.#self))
  }

  /** No claim begins after this; what a claim under way brings back is released. Settling goes on. */
  stopClaiming(): void {
    this.#claiming = false
    if (this.#suspect === 'sought') this.#forgetSuspect()
    this.#waker.wake()
  }

  /** Takes how an attempt ended; it is told to the database as soon as is sensible. */
  add(outcome: TaskOutcome): void {
    if (outcome.kind === 'report') this.#reports.push(outcome.report)
    else if (outcome.kind === 'release') this.#releases.push(outcome.task)
    else if (outcome.kind === 'settled' && outcome.accepted) this.acceptedReports++
    this.#options.solitude.hasChanged()
    this.#waker.wake()
  }

  /** What the database has not answered yet. */
  get pendingCount(): number {
    return this.#reports.length + this.#heldUp.length + this.#releases.length
  }

  /** Settles when nothing runs and everything is told; only after {@link stopClaiming}. */
  drained(): Promise<void> {
    return this.#loop ?? Promise.resolve()
  }

  /** Settles when everything is told that has been added so far, or the loop has ended. */
  async told(): Promise<void> {
    while (this.pendingCount > 0 && !this.#ended) {
      await new Promise<void>((resolve) => this.#afterTurn.push(resolve))
    }
  }

  /** Ends the loop after the call under way, whatever is pending. */
  end(): void {
    this.#ended = true
    this.#waker.wake()
  }

  async #run(): Promise<void> {
    while (!this.#isDone()) {
      let pauseMs: number
      try {
        pauseMs = Math.min(await this.#turn(), this.#untilHeldLook())
        this.#recovered()
      } catch (error) {
        if (!(await this.#setHeldAside(error))) await this.#backOff(error)
        continue
      } finally {
        this.#turnEnded()
      }
      if (this.#isDone()) break
      await this.#waker.sleep(pauseMs)
      await this.#coalesce()
    }
  }

  #isDone(): boolean {
    if (this.#ended) return true
    return !this.#claiming && this.pendingCount === 0 && this.#options.activeCount() === 0
  }

  /** One turn; answers how long to pause before the next, unless woken. */
  async #turn(): Promise<number> {
    if (this.#releases.length > 0) await this.#release()
    if (this.#untilHeldLook() <= 0) await this.#takeHeldBack()
    if (this.#sawStalled) await this.#recoverStalled()
    // What woke us is seen below; only what comes later may cut the next pause.
    this.#waker.forget()
    const qty = this.#claiming ? this.#wanted() : 0
    const settled = this.#reports.length
    const claimed = qty > 0 ? await this.#settleAndClaim(qty) : 0
    if (qty <= 0 && settled > 0) await this.#settle()

    // Without a free slot, when draining, or about a suspect, only a finished task is news.
    if (!this.#claiming || this.#wanted() <= 0) return Number.POSITIVE_INFINITY
    if (claimed > 0 || settled > 0) {
      this.#idleDelayMs = this.#options.pollIntervalMs
      return claimed === qty ? 0 : this.#idleDelayMs
    }
    const pauseMs = this.#idleDelayMs
    this.#idleDelayMs = Math.min(pauseMs * 2, this.#options.maxPollIntervalMs)
    return pauseMs
  }

  /** How many tasks may be claimed now. */
  #wanted(): number {
    const { activeCount, batchSize, maxConcurrent, solitude } = this.#options
    if (this.#suspect === 'held' && activeCount() === 0) this.#forgetSuspect()
    if (solitude.isOfAnother(this.#self) || this.#suspect === 'held') return 0
    if (this.#suspect === 'sought') return activeCount() === 0 && solitude.begin(this.#self) ? batchSize : 0
    return Math.min(batchSize, maxConcurrent - activeCount())
  }

  #forgetSuspect(): void {
    this.#suspect = 'none'
    this.#options.solitude.end(this.#self)
  }

  async #settleAndClaim(qty: number): Promise<number> {
    const sentAt = performance.now()
    const alone = this.#suspect === 'sought'
    this.#isClaiming = true
    const answer = await this.#sendReports((reports) =>
      this.#options.source.settleAndClaim(reports, qty, alone),
    ).finally(() => {
      this.#isClaiming = false
    })
    if (alone && answer.claimed.length > 0) this.#suspect = 'held'
    else if (alone) this.#forgetSuspect()
    else if (answer.suspects > 0) this.#suspect = 'sought'
    if (answer.worker === 'running') this.#options.onAnswered?.(sentAt)
    for (const task of answer.claimed) {
      // The signal to stop may have come while the claim was under way.
      if (this.#claiming) this.#options.onClaimed(task)
      else {
        this.#releases.push({ ...attemptOf(task), started: false })
        this.#options.emit({ level: 'info', event: 'task.released', ...attemptOf(task), started: false })
      }
    }
    this.#observe(answer)
    this.#options.solitude.hasChanged()
    return answer.claimed.length
  }

  async #settle(): Promise<void> {
    await this.#sendReports(async (reports) => ({ refused: await this.#options.source.settle(reports) }))
  }

  /** Sends all pending reports with `send` and forgets them once it answers. New ones may come meanwhile. */
  async #sendReports<TAnswer extends { readonly refused: readonly RefusedReport[] }>(
    send: (reports: readonly AttemptReport[]) => Promise<TAnswer>,
  ): Promise<TAnswer> {
    const reports = this.#reports.slice()
    this.databaseCalls++
    let answer: TAnswer
    try {
      answer = await send(reports)
    } catch (error) {
      this.#maybeArrived = Math.max(this.#maybeArrived, reports.length)
      throw error
    }
    this.#reports.splice(0, reports.length)
    const repeated = this.#maybeArrived > 0
    this.#maybeArrived = 0
    for (const refused of answer.refused) {
      this.#options.emit({
        level: 'warn',
        event: 'report.refused',
        ...subjectOf(refused),
        reason: refused.reason,
        repeated,
      })
    }
    this.acceptedReports += reports.length - answer.refused.length
    return answer
  }

  async #release(): Promise<void> {
    const releases = this.#releases.slice()
    this.databaseCalls++
    await this.#options.source.release(releases)
    this.#releases.splice(0, releases.length)
  }

  /** Tasks that a dead worker left without an attempt: no claim can end them, and cron may be late or absent. */
  async #recoverStalled(): Promise<void> {
    this.databaseCalls++
    await this.#options.source.recoverStalled()
    this.#sawStalled = false
  }

  /** After a call that waited for a lock too long: what would have to wait still is set aside. */
  async #setHeldAside(error: unknown): Promise<boolean> {
    if (!isLockTimeout(error) || this.#reports.length === 0) return false
    // Nothing has changed, so none of them has arrived.
    this.#maybeArrived = 0
    try {
      this.databaseCalls++
      const held = new Set(await this.#options.source.heldUp(this.#reports.slice()))
      if (held.size === 0) return true
      this.#reports = this.#reports.filter((report) => !held.has(report))
      this.#heldUp.push(...held)
      this.#heldRetryMs = HELD_RUN_RETRY_MIN_MS
      this.#heldLookAt = performance.now() + this.#heldRetryMs
      this.#options.emit({ level: 'info', event: 'report.held_up', reports: held.size })
      return true
    } catch {
      return false
    }
  }

  #untilHeldLook(): number {
    return this.#heldUp.length === 0 ? Number.POSITIVE_INFINITY : Math.max(0, this.#heldLookAt - performance.now())
  }

  async #takeHeldBack(): Promise<void> {
    this.databaseCalls++
    const held = new Set(await this.#options.source.heldUp(this.#heldUp))
    this.#reports.push(...this.#heldUp.filter((report) => !held.has(report)))
    this.#heldUp = [...held]
    this.#heldRetryMs = Math.min(this.#heldRetryMs * 2, HELD_RUN_RETRY_MAX_MS)
    this.#heldLookAt = performance.now() + this.#heldRetryMs
  }

  #observe(answer: ClaimAnswer): void {
    if (answer.stalled > 0) this.#sawStalled = true
    for (const message of answer.unsupported) this.#warnOnce(message)
    if (answer.halted) {
      const messageIds = answer.unsupported.map((message) => message.messageId)
      this.#options.emit({ level: 'error', event: 'worker.halted', messageIds })
      this.#options.onState('halted')
    } else if (answer.worker !== 'running') this.#options.onState(answer.worker)
  }

  #warnOnce(message: UnsupportedMessage): void {
    this.unsupportedCount++
    if (this.#warnedMessages.has(message.messageId) || this.#warnedMessages.size >= UNSUPPORTED_WARNINGS_KEPT) return
    this.#warnedMessages.add(message.messageId)
    this.#options.emit({
      level: 'warn',
      event: 'message.unsupported',
      messageId: message.messageId,
      messageFlowSlug: message.flowSlug,
      messageStepSlug: message.stepSlug,
      readCount: message.readCount,
    })
  }

  /** Lets finished tasks gather, so that under load a call settles several. Alone, a task waits for nobody. */
  async #coalesce(): Promise<void> {
    const now = performance.now()
    const enough = Math.min(SETTLE_COALESCE_COUNT, this.#options.maxConcurrent)
    while (this.#reports.length > 0 && this.#options.activeCount() > 0 && this.#claiming && !this.#ended) {
      const patienceMs = this.#reports.length >= enough ? SETTLE_COALESCE_MIN_MS : SETTLE_COALESCE_MS
      const left = now + patienceMs - performance.now()
      if (left <= 0) return
      await this.#waker.sleep(left)
    }
  }

  async #backOff(error: unknown): Promise<void> {
    this.#failures++
    const longest = this.#claiming ? DATABASE_BACKOFF_MAX_MS : DATABASE_BACKOFF_LEAVING_MS
    const retryInMs = Math.min(DATABASE_BACKOFF_MIN_MS * 2 ** Math.min(this.#failures - 1, 20), longest)
    this.#options.emit({
      level: 'warn',
      event: 'database.failing',
      during: this.#reports.length > 0 ? 'settling' : 'claiming',
      reason: databaseReason(error),
      retryInMs,
      failures: this.#failures,
    })
    if (this.#failures >= 2 && this.#reports.length > 0 && isDataError(error)) await this.#settleOneByOne()
    // A fresh start finds out what is missing and says it.
    if (isSubscriptionGone(error)) this.#options.onState('refused')
    const until = performance.now() + retryInMs
    const wasClaiming = this.#claiming
    // Finished tasks wake the sleeper; the database gets its pause all the same. A worker that leaves tries once more.
    for (
      let left = retryInMs;
      left > 0 && !this.#ended && this.#claiming === wasClaiming;
      left = until - performance.now()
    ) {
      await this.#waker.sleep(left)
    }
  }

  #turnEnded(): void {
    const waiters = this.#afterTurn
    this.#afterTurn = []
    for (const wake of waiters) wake()
  }

  #recovered(): void {
    if (this.#failures === 0) return
    this.#options.emit({ level: 'info', event: 'database.recovered', failures: this.#failures })
    this.#failures = 0
  }

  /** The batch as a whole is refused by the data in it: finds the report that is to blame. */
  async #settleOneByOne(): Promise<void> {
    for (const report of this.#reports.slice()) {
      try {
        this.databaseCalls++
        const [refused] = await this.#options.source.settle([report])
        this.#forget(report)
        if (refused === undefined) this.acceptedReports++
        else {
          const { reason } = refused
          this.#options.emit({ level: 'warn', event: 'report.refused', ...subjectOf(refused), reason, repeated: true })
        }
      } catch (error) {
        if (!isDataError(error)) return
        const replaced = report.status === 'completed'
        const reason = databaseReason(error)
        this.#options.emit({ level: 'error', event: 'report.unstorable', ...subjectOf(report), reason, replaced })
        this.#forget(report)
        if (replaced) {
          this.#reports.push(
            failedReport(attemptOf(report), {
              name: 'InvalidOutputError',
              message: `The output cannot be stored: ${describeError(error).message}`,
            }),
          )
        }
      }
    }
  }

  #forget(report: AttemptReport): void {
    const index = this.#reports.indexOf(report)
    if (index >= 0) this.#reports.splice(index, 1)
    this.#maybeArrived = 0
  }
}
