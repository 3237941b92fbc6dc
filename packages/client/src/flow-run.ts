import type { AnyFlow, ExtractFlowInput, ExtractFlowOutput, StepSlug } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { FlowStep } from './flow-step.ts'
import type { Intervals } from './intervals.ts'
import { cancellationOf, disposed, failureOf, timedOut, unreachable } from './run-errors.ts'
import type { FlowEvent, RunEvent } from './run-event.ts'
import type { RunSnapshot, RunState, RunStatus, StepStatus } from './run-state.ts'
import { RunStore, runEvent } from './run-store.ts'
import { RunWatch } from './run-watch.ts'
import { hasEnded } from './state-order.ts'
import { type WaitOptions, type WaitOutcome, waitForOutcome } from './status-wait.ts'
import type { SupabasePort } from './supabase-port.ts'

/** @internal */
export interface FlowRunOptions {
  readonly supabase: SupabasePort
  readonly intervals: Intervals
  readonly realtime: boolean
  readonly run: RunState
  /** Steps and delivery, where they were read with the run. */
  readonly snapshot: RunSnapshot | undefined
}

/** What somebody waits for. */
interface StatusQuestion {
  /** As an error names it. */
  readonly thing: string
  readonly wanted: string
  readonly status: () => string
  readonly judge: () => WaitOutcome
}

type Listener = (event: FlowEvent<AnyFlow>) => void

/**
 * A run: what the database said of it last. It is kept up to date from the first `on`, `waitForStatus` or iteration until the
 * run has ended or `dispose` is called; before that, `refresh` asks for what is new.
 */
export class FlowRun<TFlow extends AnyFlow = AnyFlow> implements AsyncIterable<FlowEvent<TFlow>> {
  readonly #store: RunStore
  readonly #watch: RunWatch
  readonly #steps = new Map<string, FlowStep<TFlow, never>>()
  readonly #listeners = new Set<Listener>()
  readonly #observers = new Set<(end?: unknown) => void>()
  #isDisposed = false

  /** @internal */
  constructor({ run, snapshot, ...options }: FlowRunOptions) {
    this.#store = new RunStore(run, (event) => this.#tell(event))
    if (snapshot !== undefined) this.#store.takeSnapshot(snapshot)
    this.#watch = new RunWatch({
      ...options,
      store: this.#store,
      delivery: snapshot?.delivery,
      onChange: () => this.#look(),
      onLost: (error) => this.#look(error),
    })
  }

  get runId(): string {
    return this.#store.run.runId
  }

  get flowSlug(): string {
    return this.#store.run.flowSlug
  }

  get status(): RunStatus {
    return this.#store.run.status
  }

  get input(): ExtractFlowInput<TFlow> {
    return this.#store.run.input as ExtractFlowInput<TFlow>
  }

  /** The outputs of its last steps; null unless it completed. */
  get output(): ExtractFlowOutput<TFlow> | null {
    return this.status === 'completed' ? (this.#store.run.output as ExtractFlowOutput<TFlow>) : null
  }

  /** SF221 of a run that failed, SF222 of one that was cancelled, else null. */
  get error(): StarflowError | null {
    const { run, steps } = this.#store
    if (run.status === 'failed') return failureOf(run, steps)
    return run.status === 'cancelled' ? cancellationOf(run) : null
  }

  get startedAt(): Date {
    return this.#store.run.startedAt
  }

  get completedAt(): Date | null {
    return this.#store.run.completedAt
  }

  get failedAt(): Date | null {
    return this.#store.run.failedAt
  }

  get cancelledAt(): Date | null {
    return this.#store.run.cancelledAt
  }

  /** Its steps, in the order of the flow; none before they were read, which startFlows alone leaves to `refresh`. */
  get steps(): readonly FlowStep<TFlow>[] {
    return this.#store.steps.map(({ stepSlug }) => this.step(stepSlug as StepSlug<TFlow>))
  }

  /**
   * A step, the same one each time.
   *
   * @throws StarflowError SF107 when the flow has none of that slug
   */
  step<TSlug extends StepSlug<TFlow>>(slug: TSlug): FlowStep<TFlow, TSlug> {
    if (this.#store.hasSteps && this.#store.step(slug) === undefined) throw this.#unknownStep(slug)
    let step = this.#steps.get(slug) as FlowStep<TFlow, TSlug> | undefined
    if (step === undefined) {
      step = new FlowStep<TFlow, TSlug>(slug, {
        state: () => this.#store.step(slug),
        on: (status, listener) =>
          this.#listen((event) => {
            if (!('stepSlug' in event) || event.stepSlug !== slug) return
            if (status === '*' || event.status === status) listener(event as never)
          }),
        waitForStatus: (status, options) =>
          this.#wait(
            {
              thing: `Step "${slug}" of run ${this.runId}`,
              wanted: status,
              status: () => this.#store.step(slug)?.status ?? 'created',
              judge: () => this.#judgeStep(slug, status),
            },
            options,
          ),
      })
      this.#steps.set(slug, step as FlowStep<TFlow, never>)
    }
    return step
  }

  /** Calls when the run comes to that status; `*`: whatever happens to it or its steps. Gives what ends that. */
  on<TStatus extends RunStatus | '*'>(
    status: TStatus,
    listener: (event: TStatus extends '*' ? FlowEvent<TFlow> : Extract<RunEvent<TFlow>, { status: TStatus }>) => void,
  ): () => void {
    return this.#listen((event) => {
      if (status === '*' || event.type === `run:${status}`) (listener as Listener)(event)
    })
  }

  /**
   * Settles when the run has come to that status. Rejects at once when it never will: who waits for `completed` hears of a failure
   * when it happens.
   *
   * @throws StarflowError SF221 the run failed, SF222 it was cancelled, SF223 it completed, SF224 the time is over, SF225 it was
   *   disposed of, SF802 it cannot be seen any more; the signal's reason
   */
  async waitForStatus(status: RunStatus, options?: WaitOptions): Promise<this> {
    await this.#wait(
      { thing: `Run ${this.runId}`, wanted: status, status: () => this.status, judge: () => this.#judgeRun(status) },
      options,
    )
    return this
  }

  /**
   * What happens to the run and its steps from now on, steps before those that depend on them. Ends after the end of the run, of
   * which it tells in any case.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<FlowEvent<TFlow>, void, undefined> {
    if (this.#store.isSettled) {
      yield runEvent(this.#store.run) as FlowEvent<TFlow>
      return
    }
    const events: FlowEvent<AnyFlow>[] = []
    let wake = () => {}
    let hasToldEnd = false
    let failure: { readonly error: unknown } | undefined
    const stopListening = this.#listen((event) => {
      events.push(event)
      wake()
    })
    const stopObserving = this.#observe((error) => {
      if (error !== undefined) failure = { error }
      wake()
    })
    try {
      while (true) {
        for (let event = events.shift(); event !== undefined; event = events.shift()) {
          hasToldEnd = event.type === `run:${this.status}` && hasEnded(this.status)
          yield event as FlowEvent<TFlow>
        }
        if (failure !== undefined) throw failure.error
        if (this.#isDisposed || (this.#store.isSettled && hasToldEnd)) return
        if (this.#store.isSettled) events.push(runEvent(this.#store.run))
        else {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      }
    } finally {
      stopListening()
      stopObserving()
    }
  }

  /** Asks the database now. */
  async refresh(): Promise<this> {
    await this.#watch.read()
    // Somebody has retried it: whoever listened before hears it again.
    if (this.#listeners.size > 0 || this.#observers.size > 0) this.#startWatch()
    return this
  }

  /** Stops watching: listeners hear nothing more, iterations end, waits reject with SF225. The run itself goes on. */
  dispose(): void {
    if (this.#isDisposed) return
    this.#isDisposed = true
    this.#watch.stop()
    this.#listeners.clear()
    this.#look()
  }

  #listen(listener: Listener): () => void {
    // A listener of its own each time, so that adding one function twice and ending one of the two leaves the other.
    const own: Listener = (event) => listener(event)
    if (!this.#isDisposed) this.#listeners.add(own)
    this.#startWatch()
    return () => this.#listeners.delete(own)
  }

  #observe(look: (end?: unknown) => void): () => void {
    this.#observers.add(look)
    this.#startWatch()
    return () => this.#observers.delete(look)
  }

  #startWatch(): void {
    if (!this.#isDisposed) this.#watch.start()
  }

  #wait({ thing, wanted, status, judge }: StatusQuestion, options: WaitOptions | undefined): Promise<void> {
    return waitForOutcome(
      {
        judge: () => judge() ?? (this.#isDisposed ? disposed(thing, wanted, status()) : undefined),
        timeoutError: (timeoutMs) => timedOut(thing, wanted, status(), timeoutMs, this.#watch.lastProblem),
        observe: (look) => this.#observe(look),
      },
      options,
    )
  }

  #judgeRun(wanted: RunStatus): WaitOutcome {
    const { run } = this.#store
    if (run.status === wanted || wanted === 'started') return 'reached'
    if (!hasEnded(run.status)) return undefined
    // The failed step is part of the error: it comes with the read that follows.
    if (run.status !== 'completed' && !this.#store.hasSteps) return undefined
    return this.error ?? unreachable(`Run ${run.runId}`, wanted, run.status, undefined)
  }

  #judgeStep(slug: string, wanted: StepStatus): WaitOutcome {
    const { run } = this.#store
    const step = this.#store.step(slug)
    if (step === undefined) return this.#store.hasSteps ? this.#unknownStep(slug) : undefined
    if (step.status === wanted || wanted === 'created') return 'reached'
    if (wanted === 'started' && (step.status === 'completed' || step.status === 'failed')) return 'reached'
    if (run.status === 'failed' || run.status === 'cancelled') return this.error as StarflowError
    if (step.status === 'completed' || step.status === 'skipped') {
      return unreachable(`Step "${slug}" of run ${run.runId}`, wanted, step.status, step.skipReason ?? undefined)
    }
    return undefined
  }

  #look(end?: unknown): void {
    for (const observer of [...this.#observers]) observer(end)
  }

  #tell(event: FlowEvent<AnyFlow>): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event)
      } catch (error) {
        // A listener's own failure is reported as that of any event handler, and keeps nobody else from hearing.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }

  #unknownStep(slug: string): StarflowError {
    const steps = this.#store.steps.map(({ stepSlug }) => stepSlug)
    return new StarflowError({
      code: 'SF107',
      message: `Flow "${this.flowSlug}" has no step "${slug}".`,
      detail: `Its steps: ${steps.join(', ')}.`,
      hint: 'Check the spelling.',
      fields: { flowSlug: this.flowSlug, stepSlug: slug, steps },
    })
  }
}
