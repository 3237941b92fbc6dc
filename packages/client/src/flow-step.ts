import type { AnyFlow, StepOutput, StepSlug } from '@starflow/dsl'
import type { StepEvent } from './run-event.ts'
import type { SkipReason, StepState, StepStatus } from './run-state.ts'
import type { WaitOptions } from './status-wait.ts'

/** What a step needs of its run. */
export interface StepHost {
  state(): StepState | undefined
  on(status: string, listener: (event: never) => void): () => void
  waitForStatus(status: StepStatus, options?: WaitOptions): Promise<void>
}

/** A step of a run. It shows what its FlowRun knows, which is kept up to date while that is watched. */
export class FlowStep<TFlow extends AnyFlow = AnyFlow, TSlug extends StepSlug<TFlow> = StepSlug<TFlow>> {
  readonly slug: TSlug
  readonly #host: StepHost

  /** @internal */
  constructor(slug: TSlug, host: StepHost) {
    this.slug = slug
    this.#host = host
  }

  get status(): StepStatus {
    return this.#host.state()?.status ?? 'created'
  }

  /** Null unless it completed. */
  get output(): StepOutput<TFlow, TSlug> | null {
    return (this.#host.state()?.output ?? null) as StepOutput<TFlow, TSlug> | null
  }

  /** What its last attempt failed with; null unless it failed, or was skipped for it. */
  get error(): string | null {
    return this.#host.state()?.errorMessage ?? null
  }

  /** Null unless it was skipped. */
  get skipReason(): SkipReason | null {
    return this.#host.state()?.skipReason ?? null
  }

  get startedAt(): Date | null {
    return this.#host.state()?.startedAt ?? null
  }

  get completedAt(): Date | null {
    return this.#host.state()?.completedAt ?? null
  }

  get failedAt(): Date | null {
    return this.#host.state()?.failedAt ?? null
  }

  get skippedAt(): Date | null {
    return this.#host.state()?.skippedAt ?? null
  }

  /** Calls when the step comes to that status (`*`: to any). Gives what ends that. */
  on<TStatus extends Exclude<StepStatus, 'created'> | '*'>(
    status: TStatus,
    listener: (event: Extract<StepEvent<TFlow, TSlug>, TStatus extends '*' ? unknown : { status: TStatus }>) => void,
  ): () => void {
    return this.#host.on(status, listener as (event: never) => void)
  }

  /**
   * Settles when the step has come to that status; `started` also when it is past it. Rejects at once when it never will.
   *
   * @throws StarflowError SF221 the run failed, SF222 it was cancelled, SF223 the step came to another end, SF224 the time is over;
   *   the signal's reason
   */
  async waitForStatus(status: StepStatus, options?: WaitOptions): Promise<this> {
    await this.#host.waitForStatus(status, options)
    return this
  }
}
