import type { AnyFlow, CompatibleFlow, RunnerContext } from '@starflow/dsl'
import { type Clock, isDoneWithin, systemClock } from '../engine/clock.ts'
import { Engine, type EngineOptions } from '../engine/engine.ts'
import { sharedAbortController } from '../engine/shared-abort-controller.ts'
import {
  CLAIM_INTERVAL_MS,
  CONTACT_INTERVAL_MS,
  DRAIN_TIMEOUT_MS,
  LEASE_HEARTBEAT_MS,
  LEASE_TTL_MS,
  RUNNER_CONCURRENCY,
  SESSION_COLLECTION_INTERVAL_MS,
  STOP_PATIENCE_MS,
  SWEEP_INTERVAL_MS,
} from '../numbers.ts'
import type { ClaimedRun, QueueingStateAdapter } from '../state-adapter.ts'
import { ActiveRun, ActiveRuns } from './active-runs.ts'
import { ClaimLoop } from './claim-loop.ts'
import { LeaseSweep } from './lease-sweep.ts'
import { RepeatingTask } from './repeating-task.ts'
import { failureParts, type RunnerEvent, type RunnerOwnEvent } from './runner-events.ts'
import type { Service } from './service.ts'
import { StoreContact } from './store-contact.ts'

export interface RunnerOptions extends Omit<EngineOptions, 'adapter' | 'onEvent' | 'shutdownSignal'> {
  readonly adapter: QueueingStateAdapter
  /** It claims runs of this pool and those of nobody's. Default: only those of nobody's. */
  readonly runnerPool?: string
  /** Runs that it executes at once. Default 10. */
  readonly concurrency?: number
  /** Flows that it does not take since they cannot run here, by slug, and why: the list of unserved runs shows it. */
  readonly refusedFlows?: Readonly<Record<string, string>>
  /** The workspace under which it reports. Default: none. */
  readonly workspaceId?: string
  readonly onEvent?: (event: RunnerEvent) => void
  /** Default 1 s, 10 s and 30 s; shorter ones are for tests. */
  readonly claimIntervalMs?: number
  readonly heartbeatIntervalMs?: number
  readonly sweepIntervalMs?: number
}

/** The flows of a runner, each checked to ask for nothing that a runner does not give. */
export type RunnerFlows<TFlows extends readonly AnyFlow[]> = {
  readonly [K in keyof TFlows]: TFlows[K] & CompatibleFlow<TFlows[K], RunnerContext>
}

/**
 * Claims queued runs and executes them. What goes on in the background are four services: the claim loop, one heartbeat for
 * itself and all its runs, the sweep, and the collection of session variables.
 *
 * @example
 * const runner = new Runner([readPage], { adapter })
 * await runner.start()
 * process.on('SIGTERM', () => void runner.drain())
 */
export class Runner<const TFlows extends readonly AnyFlow[] = readonly AnyFlow[]> {
  readonly runnerId: string
  readonly #flows: readonly AnyFlow[]
  readonly #options: RunnerOptions
  readonly #clock: Clock
  readonly #engine: Engine
  readonly #contact: StoreContact
  readonly #active = new ActiveRuns()
  readonly #shutdown = sharedAbortController()
  /** The flows by the definition that this runner's code has for them. */
  readonly #served = new Map<string, AnyFlow>()
  #state: 'new' | 'running' | 'draining' | 'stopped' = 'new'
  #claimLoop: ClaimLoop | undefined
  #services: readonly Service[] = []
  #heartbeat: RepeatingTask | undefined
  #stopped: Promise<void> | undefined

  constructor(flows: RunnerFlows<TFlows>, options: RunnerOptions) {
    const { adapter, onEvent, ...engineOptions } = options
    this.#flows = flows as readonly AnyFlow[]
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#engine = new Engine({
      ...engineOptions,
      adapter,
      shutdownSignal: this.#shutdown.signal,
      ...(onEvent && { onEvent: (event) => onEvent({ ...event, runnerId: this.runnerId }) }),
    })
    this.runnerId = this.#engine.runnerId
    const isRemote = adapter.isRemote ?? false
    this.#contact = new StoreContact(this.#clock, { settleMs: this.#leaseTtlMs / 2, isRemote })
  }

  /** Runs that it executes now. */
  get activeRuns(): number {
    return this.#active.size
  }

  /** Whether it claims, and its claims are answered: what `/readyz` says. */
  get isReady(): boolean {
    return this.#state === 'running' && this.#claimLoop?.isClaiming === true
  }

  /**
   * Keeps its definitions and begins to claim.
   *
   * @throws StarflowError SF817 for a flow that cannot run here; what the store fails with
   */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error('A runner is started once.')
    this.#state = 'running'
    for (const flow of this.#flows) {
      const { definitionId } = await this.#engine.serve(flow)
      this.#served.set(definitionId, flow)
    }
    this.#claimLoop = this.#makeClaimLoop()
    // The sweep first, so that what a dead runner left is there for the first claim.
    this.#heartbeat = this.#makeHeartbeat()
    this.#services = [this.#makeSweep(), this.#heartbeat, this.#makeSessionCollection()]
    for (const service of this.#services) service.start()
    this.#claimLoop.start()
    this.#emit({ level: 'info', event: 'runner.started', flows: this.#flows.length, capacity: this.#concurrency })
  }

  /**
   * Claims nothing more, and settles when the active runs have ended, or the deadline has come: what is left then is stopped
   * without another write, and the sweep gives it to another runner.
   */
  drain(timeoutMs: number = DRAIN_TIMEOUT_MS): Promise<void> {
    this.#stopped ??= this.#drain(timeoutMs)
    return this.#stopped
  }

  /** Ends at once; active runs are left to the sweep. */
  stop(): Promise<void> {
    const isDraining = this.#stopped !== undefined
    if (isDraining) this.#abandon()
    return this.drain(0)
  }

  async #drain(timeoutMs: number): Promise<void> {
    this.#state = 'draining'
    this.#emit({ level: 'info', event: 'runner.draining', runs: this.#active.size })
    // It serves nothing new: the list of unserved runs is to show that at once.
    this.#heartbeat?.wake()
    // A claim under way may yet bring a run, which is given back.
    const isClaimLoopStopped = this.#claimLoop?.stop() ?? Promise.resolve()
    await isDoneWithin(
      this.#clock,
      timeoutMs,
      isClaimLoopStopped.then(() => this.#active.idle()),
    )
    const runsLeft = this.#active.size
    if (runsLeft > 0) this.#abandon()
    // A store that does not answer holds up no process that ends: what is left behind is found when its lease is over.
    await isDoneWithin(this.#clock, STOP_PATIENCE_MS, this.#leave(isClaimLoopStopped))
    this.#state = 'stopped'
    this.#emit({ level: runsLeft > 0 ? 'warn' : 'info', event: 'runner.stopped', runsLeft })
  }

  async #leave(isClaimLoopStopped: Promise<void>): Promise<void> {
    await Promise.all([isClaimLoopStopped, this.#active.idle(), ...this.#services.map((service) => service.stop())])
    await this.#sayFarewell()
  }

  #abandon(): void {
    this.#shutdown.abort(new Error('The runner ends.'))
    this.#active.stopAll()
  }

  get #concurrency(): number {
    return this.#options.concurrency ?? RUNNER_CONCURRENCY
  }

  get #leaseTtlMs(): number {
    return this.#options.leaseTtlMs ?? LEASE_TTL_MS
  }

  #makeClaimLoop(): ClaimLoop {
    const { adapter, runnerPool, claimIntervalMs = CLAIM_INTERVAL_MS } = this.#options
    return new ClaimLoop({
      ...{ adapter, clock: this.#clock, intervalMs: claimIntervalMs },
      args: {
        runnerId: this.runnerId,
        leaseTtlMs: this.#leaseTtlMs,
        runnerPool,
        definitionIds: [...this.#served.keys()],
      },
      freeSlots: () => this.#concurrency - this.#active.size,
      onClaimed: (claimed) => this.#onClaimed(claimed),
      onFailure: (error) => this.#emit({ level: 'warn', event: 'claim.failed', ...failureParts(error) }),
      onDeaf: (error) => this.#emit({ level: 'warn', event: 'wakes.failed', ...failureParts(error) }),
    })
  }

  #makeSweep(): Service {
    const { adapter, sweepIntervalMs = SWEEP_INTERVAL_MS } = this.#options
    return new LeaseSweep({
      ...{ adapter, clock: this.#clock, intervalMs: sweepIntervalMs, leaseTtlMs: this.#leaseTtlMs },
      contact: this.#contact,
      onSwept: (runs) => {
        for (const { runId, outcome } of runs) {
          this.#emit({ level: outcome === 'abandoned' ? 'error' : 'info', event: 'run.swept', runId, outcome })
        }
        this.#claimLoop?.wake()
      },
      onFailure: (error) => this.#emit({ level: 'warn', event: 'sweep.failed', ...failureParts(error) }),
    })
  }

  /**
   * One for all: a runner with a thousand runs writes no more often than one with none. A failure costs no run, and neither
   * does a connection that is dead without saying so: the next beat does not wait for this one. When the store is away, its
   * return is noticed soon, since leases are running out.
   */
  #makeHeartbeat(): RepeatingTask {
    const { adapter, runnerPool, refusedFlows, workspaceId, heartbeatIntervalMs = LEASE_HEARTBEAT_MS } = this.#options
    return new RepeatingTask({
      ...{ clock: this.#clock, patienceMs: this.#leaseTtlMs / 3 },
      intervalMs: () =>
        this.#contact.isAnswering ? heartbeatIntervalMs : Math.min(heartbeatIntervalMs, CONTACT_INTERVAL_MS),
      once: async () => {
        const beat = {
          ...{ runnerId: this.runnerId, runnerPool, ttlMs: this.#leaseTtlMs, capacity: this.#concurrency },
          definitionIds: [...this.#served.keys()],
          claims: this.#active.claims(),
          ...{ isAccepting: this.isReady, refusedFlows, workspaceId },
        }
        const { lost } = await this.#contact.watch(() => adapter.heartbeat(beat))
        for (const { runId, claimAttempts } of this.#active.lose(lost)) {
          this.#emit({ level: 'warn', event: 'run.lost', runId, claimAttempts })
        }
      },
      onFailure: (error) => this.#emit({ level: 'warn', event: 'heartbeat.failed', ...failureParts(error) }),
    })
  }

  #makeSessionCollection(): Service {
    const { adapter } = this.#options
    return new RepeatingTask({
      ...{ clock: this.#clock, intervalMs: SESSION_COLLECTION_INTERVAL_MS },
      once: async () => {
        const variables = await adapter.collectSessions()
        if (variables > 0) this.#emit({ level: 'info', event: 'sessions.collected', variables })
      },
      onFailure: (error) => this.#emit({ level: 'warn', event: 'sessions.failed', ...failureParts(error) }),
    })
  }

  #onClaimed(claimed: ClaimedRun): void {
    const active = new ActiveRun(claimed.claim)
    this.#active.add(active)
    const work = this.#state === 'running' ? this.#execute(claimed, active) : this.#giveBack(claimed)
    void work
      .catch((error: unknown) => {
        const { runId } = claimed.run
        this.#emit({ level: 'error', event: 'run.not_opened', runId, ...failureParts(error) })
      })
      .then(() => {
        this.#active.remove(active)
        this.#claimLoop?.wake()
      })
  }

  async #execute(claimed: ClaimedRun, active: ActiveRun): Promise<void> {
    const { claim, run } = claimed
    const flow = this.#served.get(run.definitionId ?? '')
    if (flow === undefined) throw new Error(`Run ${run.runId} was claimed, but its definition is not served here.`)
    this.#emit({
      ...{ level: 'info', event: 'run.claimed', runId: run.runId, flowSlug: flow.slug },
      ...{ workspaceId: run.workspaceId, claimAttempts: claim.claimAttempts },
    })
    const execution = await this.#engine.open(flow, claimed, active.signal)
    active.begin(execution)
    // Whatever it fails with it says itself; from here on nobody renews its lease.
    await execution.execute().catch(() => {})
  }

  /** The claim was under way when the runner began to stop. */
  async #giveBack({ claim, run }: ClaimedRun): Promise<void> {
    await this.#options.adapter.bind(claim).releaseRun(run.runId, { delayMs: 0, reason: 'drain' })
    this.#emit({ level: 'info', event: 'run.given_back', runId: run.runId })
  }

  async #sayFarewell(): Promise<void> {
    try {
      await this.#options.adapter.removeRunner(this.runnerId)
    } catch (error) {
      this.#emit({ level: 'warn', event: 'farewell.failed', ...failureParts(error) })
    }
  }

  #emit(event: RunnerOwnEvent): void {
    this.#options.onEvent?.({ ...event, runnerId: this.runnerId })
  }
}
