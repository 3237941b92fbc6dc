import type { DescribedError } from '@starflow/errors'
import { type HandlerScope, inHandlerScope, type OpenSpan, strayFailure, strayLog } from '@starflow/tracing'
import type { WorkerEventBody } from './events.ts'
import { LOST_LOOK_INTERVAL_MS, MAX_TIMER_MS, TIMEOUT_GRACE_MS } from './numbers.ts'
import { isCausedBy } from './platform-failure.ts'
import { completedOutcome, failedOutcome, releaseOutcome, type TaskOutcome } from './task-outcome.ts'
import { endTaskSpan, type TaskSpans } from './task-span.ts'
import { SettledInTransaction } from './transactional-step.ts'
import type { ClaimedWork, Work } from './work.ts'
import { attemptOf, subjectOf } from './work-identity.ts'

export interface ExecutorOptions {
  readonly work: Pick<Work, 'invoke' | 'serialise' | 'timeoutSeconds' | 'timeoutError' | 'lost'>
  /** Aborted with {@link WorkerShutdownError} when this worker ends started tasks. */
  readonly shutdownSignal: AbortSignal
  readonly onOutcome: (outcome: TaskOutcome) => void
  readonly emit: (event: WorkerEventBody) => void
  /** Undefined where nobody traces. */
  readonly spans?: () => TaskSpans | undefined
  readonly now?: () => number
}

/**
 * Runs handlers, each for itself: one that is slow, throws nonsense or never ends holds nothing but its own slot, and
 * that only until its timeout. When something fails that a handler started and no code waits for, its attempt fails.
 */
export class Executor {
  readonly #options: ExecutorOptions
  readonly #now: () => number
  readonly #active = new Map<ClaimedWork, AttemptLimits>()
  #idleWaiters: (() => void)[] = []
  #lostLook: ReturnType<typeof setInterval> | undefined
  #isLooking = false
  #mayBeLost = new Set<ClaimedWork>()

  constructor(options: ExecutorOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    const { shutdownSignal } = options
    // One listener for all tasks: Node takes more than ten on one signal for a leak.
    const onShutdown = () => {
      for (const limits of this.#active.values()) limits.abort(shutdownSignal.reason)
    }
    shutdownSignal.addEventListener('abort', onShutdown, { once: true })
  }

  get activeCount(): number {
    return this.#active.size
  }

  /** Starts a task and returns; its outcome arrives at `onOutcome`, exactly once. */
  start(task: ClaimedWork): void {
    const { work, shutdownSignal } = this.#options
    const limits = new AttemptLimits(task, work, (error, failsAttempt) =>
      this.#options.emit({
        level: 'error',
        event: 'handler.stray',
        ...attemptOf(task),
        ...strayLog(error),
        failsAttempt,
      }),
    )
    if (shutdownSignal.aborted) limits.abort(shutdownSignal.reason)
    this.#active.set(task, limits)
    this.#lostLook ??= setInterval(() => void this.#lookForLost(), LOST_LOOK_INTERVAL_MS)
    void this.#run(task, limits).then((outcome) => {
      this.#active.delete(task)
      this.#options.onOutcome(outcome)
      if (this.#active.size === 0) {
        clearInterval(this.#lostLook)
        this.#lostLook = undefined
        this.#mayBeLost.clear()
        const waiters = this.#idleWaiters
        this.#idleWaiters = []
        for (const wake of waiters) wake()
      }
    })
  }

  /** Settles when no handler runs. */
  idle(): Promise<void> {
    if (this.#active.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  /** Asks only about what was here at the last look already: short tasks cost no call. */
  async #lookForLost(): Promise<void> {
    const old = [...this.#active.keys()].filter((task) => this.#mayBeLost.has(task))
    this.#mayBeLost = new Set(this.#active.keys())
    if (old.length === 0 || this.#isLooking) return
    this.#isLooking = true
    try {
      for (const [task, reason] of await this.#options.work.lost(old)) {
        if (this.#active.get(task)?.lose(reason) !== true) continue
        this.#options.emit({ level: 'info', event: 'task.lost', ...attemptOf(task), reason: reason.message })
      }
    } catch {
      // The next look asks again; a database that is away is reported by the calls that need it.
    } finally {
      this.#isLooking = false
    }
  }

  async #run(task: ClaimedWork, limits: AttemptLimits): Promise<TaskOutcome> {
    const spans = this.#options.spans?.()
    if (spans === undefined) return await this.#attempt(task, limits, undefined)
    // Its parent is looked up within the limits of the attempt: a database that does not answer is no reason to go beyond them.
    const span = await Promise.race([spans.begin(task), limits.cutOff])
    if ('ok' in span) return this.#outcomeOf(task, limits, span, this.#now())
    const outcome = await this.#attempt(task, limits, span)
    endTaskSpan(span, outcome)
    return outcome
  }

  async #attempt(task: ClaimedWork, limits: AttemptLimits, span: OpenSpan | undefined): Promise<TaskOutcome> {
    const startedAt = this.#now()
    const ended = await Promise.race([this.#invoke(task, limits, span), limits.cutOff])
    return this.#outcomeOf(task, limits, ended, startedAt)
  }

  #outcomeOf(task: ClaimedWork, limits: AttemptLimits, ended: Ended, startedAt: number): TaskOutcome {
    limits.end()
    if (limits.isLost) return { kind: 'lost' }
    const durationMs = Math.round(this.#now() - startedAt)
    if (!ended.ok && ended.cutOff === 'abandoned') {
      this.#options.emit({ level: 'warn', event: 'task.abandoned', ...attemptOf(task), durationMs })
    }
    if (ended.ok && ended.value instanceof SettledInTransaction) return this.#settled(task, ended.value, durationMs)
    // What a handler returns or throws after its timeout is the timeout's doing.
    if (limits.timeoutError !== undefined) return this.#failed(task, limits.timeoutError, durationMs)
    if (ended.ok) {
      try {
        const output = this.#options.work.serialise(ended.value)
        this.#options.emit({ level: 'debug', event: 'task.completed', ...attemptOf(task), durationMs })
        return completedOutcome(task, output)
      } catch (error) {
        // Not permanent: what a handler returns may depend on what it read.
        return this.#failed(task, error, durationMs)
      }
    }
    if (isOurShutdown(ended.error, this.#options.shutdownSignal)) {
      this.#options.emit({ level: 'info', event: 'task.released', ...attemptOf(task), started: true })
      return releaseOutcome(task, true)
    }
    const stray = ended.cutOff === 'stray' ? strayFailure(handlerOf(task), ended.error) : undefined
    return this.#failed(task, ended.error, durationMs, stray)
  }

  /** Never rejects, and never lives on the handler's mercy: a thenable that throws is an outcome like any other. */
  async #invoke(task: ClaimedWork, limits: AttemptLimits, span: OpenSpan | undefined): Promise<Ended> {
    const { work } = this.#options
    const invoke = () => inHandlerScope(limits, () => work.invoke(task, limits.signal))
    try {
      return { ok: true, value: await (span === undefined ? invoke() : span.run(invoke)) }
    } catch (error) {
      return { ok: false, error }
    }
  }

  #settled(task: ClaimedWork, { refusal }: SettledInTransaction, durationMs: number): TaskOutcome {
    const { emit } = this.#options
    if (refusal === undefined) emit({ level: 'debug', event: 'task.completed', ...attemptOf(task), durationMs })
    else emit({ level: 'warn', event: 'report.refused', ...subjectOf(task), reason: refusal, repeated: false })
    return { kind: 'settled', accepted: refusal === undefined }
  }

  #failed(task: ClaimedWork, thrown: unknown, durationMs: number, described?: DescribedError): TaskOutcome {
    const outcome = failedOutcome(task, thrown, described)
    if (outcome.kind === 'report' && outcome.report.status === 'failed') {
      this.#options.emit({
        level: 'warn',
        event: 'task.failed',
        ...attemptOf(task),
        errorName: outcome.report.error?.name ?? 'Error',
        durationMs,
        permanent: outcome.report.permanent ?? false,
        ...(outcome.report.forgiven === true ? { forgiven: true } : {}),
        errorMessage: outcome.report.errorMessage,
      })
    }
    return outcome
  }
}

type Ended =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly error: unknown
      /** The attempt ended without its handler: that did not end after its timeout, or something that it started failed. */
      readonly cutOff?: 'abandoned' | 'stray'
    }

/**
 * What ends an attempt from outside: its timeout, the worker's shutdown, a failure of what it has started. Aborts the handler's
 * signal; gives up after a timeout's grace.
 */
class AttemptLimits implements HandlerScope {
  /** Settles when the attempt is over, whatever its handler does. */
  readonly cutOff: Promise<Ended & { readonly ok: false }>
  /** Set once the timeout has passed. */
  timeoutError: Error | undefined
  /** The task ended without this attempt. */
  isLost = false
  readonly #controller = new AbortController()
  readonly #onStray: (error: unknown, failsAttempt: boolean) => void
  #cut!: (end: Ended & { readonly ok: false }) => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  constructor(
    task: ClaimedWork,
    work: Pick<Work, 'timeoutSeconds' | 'timeoutError'>,
    onStray: (error: unknown, failsAttempt: boolean) => void,
  ) {
    this.#onStray = onStray
    this.cutOff = new Promise((resolve) => {
      this.#cut = resolve
    })
    const seconds = work.timeoutSeconds(task)
    if (seconds === undefined) return
    const onTimeout = () => {
      const error = work.timeoutError(task)
      this.timeoutError = error
      // The grace timer comes first: a listener of the signal that throws must not cost us it.
      this.#timer = setTimeout(() => this.#cut({ ok: false, error, cutOff: 'abandoned' }), TIMEOUT_GRACE_MS)
      this.abort(error)
    }
    this.#timer = setTimeout(onTimeout, Math.min(seconds * 1000, MAX_TIMER_MS))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  onStray(error: unknown): void {
    const failsAttempt = !this.#isOver
    this.#isOver = true
    this.#onStray(error, failsAttempt)
    if (!failsAttempt) return
    this.#cut({ ok: false, error, cutOff: 'stray' })
    this.abort(error)
  }

  /** Its listeners are the handler's, and so is what they throw. */
  abort(reason: unknown): void {
    inHandlerScope(this, () => this.#controller.abort(reason))
  }

  /** Answers whether it was news. */
  lose(reason: Error): boolean {
    if (this.isLost || this.#isOver) return false
    this.isLost = true
    this.abort(reason)
    return true
  }

  end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }
}

function handlerOf(task: ClaimedWork): string {
  return 'stepSlug' in task ? `step "${task.stepSlug}"` : 'the handler'
}

/**
 * Only our own signal counts: an AbortError of the handler's own making is a failure like any other. The reason itself
 * is thrown by fetch; timers wrap it as a cause.
 */
function isOurShutdown(thrown: unknown, signal: AbortSignal): boolean {
  return signal.aborted && isCausedBy(thrown, (error) => error === signal.reason)
}
