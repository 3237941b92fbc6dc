import { arrayTypes, type Sql } from '@starflow/core'
import type { StarflowError } from '@starflow/errors'
import { openTracing } from '@starflow/tracing'
import { createWork } from './create-work.ts'
import { databaseReason } from './database-reason.ts'
import { errorParts } from './error-parts.ts'
import type { WorkerEvent, WorkerEventBody, WorkerIdentity, WorkerLogger } from './events.ts'
import { Executor } from './executor.ts'
import { Heartbeat } from './heartbeat.ts'
import { Lifecycle, type LifecycleState } from './lifecycle.ts'
import { CLAIMING_PART_OF_LIFE, FAREWELL_MS, MAX_TIMER_MS, SHUTDOWN_GRACE_MS } from './numbers.ts'
import type { Platform } from './platform.ts'
import { Poller } from './poller.ts'
import { connectionsOf } from './shared-connections.ts'
import type { Solitude } from './solitude.ts'
import { type Started, startUp } from './startup.ts'
import type { Subscription } from './subscription.ts'
import type { LazySupabaseClient } from './supabase-client.ts'
import { TaskSpans } from './task-span.ts'
import { UsageReport } from './usage-report.ts'
import type { Work } from './work.ts'
import type { ResolvedWorkerConfig } from './worker-config.ts'
import type { WorkerConnections } from './worker-connections.ts'
import { WorkerShutdownError } from './worker-shutdown-error.ts'
import type { WorkerSql, WorkerState } from './worker-sql.ts'

export interface WorkerOptions {
  readonly workerId: string
  readonly functionName: string
  readonly subscription: Subscription
  readonly settings: ResolvedWorkerConfig
  readonly platform: Platform
  readonly connections: Pick<WorkerConnections, 'handlers' | 'prepared' | 'close'>
  /** On the worker's own connection. */
  readonly sql: WorkerSql
  /** Makes the SQL client of another connection. */
  readonly connect: (sql: Sql) => Pick<WorkerSql, 'settleTasks'>
  /** The same call on another connection, for a heartbeat that a slow poll holds up. */
  readonly spareSql: Pick<WorkerSql, 'heartbeat'> | undefined
  readonly supabase: LazySupabaseClient
  /** The isolate or process in which it lives, as whoever runs that calls it. */
  readonly executionId: string
  /** Shared by the workers of this isolate or process. */
  readonly solitude: Solitude
  /** False when the fence has been told before, by the worker that this one follows. */
  readonly announcesFence?: boolean
  readonly logger: WorkerLogger
}

/**
 * One worker's life: start-up, then poller, executor and heartbeat together, then the way out. It owns its connections
 * and closes them at the end. A stopped worker stays stopped; whoever wants another makes one with a new id.
 *
 * Three ways lead out. *Deprecated* (half of the wall clock is over, the database said so, or an unsupported message
 * halted it): no claim any more, started handlers finish in their own time. *Stop* (the host's signal, or
 * {@link stop}): no claim any more, which the database is told while handlers run, `shutdownSignal` is aborted, handlers
 * have 5 s. Both end the same way: reports settled, tasks given back, `stopped_at` written last.
 */
export class Worker {
  readonly #options: WorkerOptions
  readonly #lifecycle: Lifecycle
  readonly #shutdown = new AbortController()
  readonly #work: Work
  readonly #executor: Executor
  #poller: Poller | undefined
  #heartbeat: Heartbeat | undefined
  #usage: UsageReport | undefined
  #spans: TaskSpans | undefined
  #halfLife: ReturnType<typeof setTimeout> | undefined
  #drainLimit: ReturnType<typeof setTimeout> | undefined
  #starting: Promise<'running' | 'fenced'> | undefined
  #leaving: Promise<void> | undefined
  #queueName: string | undefined
  #registered = false
  #deprecationUntold = false
  #startedAt = performance.now()
  #completed = 0
  #failed = 0
  #released = 0
  #markStopped!: () => void
  /** Settles when the worker has stopped. */
  readonly stopped: Promise<void> = new Promise((resolve) => {
    this.#markStopped = resolve
  })

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#lifecycle = new Lifecycle((from, to) => this.#emit({ level: 'debug', event: 'worker.transition', from, to }))
    this.#work = createWork(options.subscription, {
      workerId: options.workerId,
      sql: options.sql,
      handlersSql: options.connections.handlers,
      connect: options.connect,
      supabase: options.supabase,
      platform: options.platform,
      settings: options.settings,
      shutdownSignal: this.#shutdown.signal,
      emit: (event) => this.#emit(event),
      sleep: (ms) => this.#sleepWhileStarting(ms),
    })
    this.#executor = new Executor({
      work: this.#work,
      shutdownSignal: this.#shutdown.signal,
      emit: (event) => this.#emit(event),
      spans: () => this.#spans,
      onOutcome: (outcome) => {
        if (outcome.kind === 'release') this.#released++
        else if (outcome.kind === 'settled') this.#completed += Number(outcome.accepted)
        else if (outcome.kind === 'report' && outcome.report.status === 'completed') this.#completed++
        else this.#failed++
        this.#poller?.add(outcome)
      },
    })
  }

  get state(): LifecycleState {
    return this.#lifecycle.state
  }

  get workerId(): string {
    return this.#options.workerId
  }

  /** Known once started. */
  get queueName(): string | undefined {
    return this.#queueName
  }

  /**
   * Compiles, registers, and begins to claim; again gives the same answer. `fenced` means that this function is disabled:
   * the worker has stopped without claiming anything.
   *
   * @throws what {@link startUp} refuses with; the worker has stopped then
   */
  start(): Promise<'running' | 'fenced'> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  /**
   * Ends this worker within the shutdown grace, whatever it is doing; again waits for the same end. With `drainMs`, started
   * handlers may first go on for so long without being told.
   */
  stop(reason: string, { drainMs = 0 }: { readonly drainMs?: number } = {}): Promise<void> {
    const { state } = this.#lifecycle
    if (state === 'created') void this.#abandonStart()
    else if (drainMs > 0 && (state === 'running' || state === 'deprecated')) this.#drain(reason, drainMs)
    else if (state !== 'stopped') this.#stopNow(reason)
    return this.stopped
  }

  async #start(): Promise<'running' | 'fenced'> {
    if (this.#lifecycle.state === 'stopped') throw this.#shutDownWhileStarting()
    this.#lifecycle.transition('starting')
    const { sql, workerId, functionName, platform, executionId } = this.#options
    let started: Started
    try {
      started = await startUp({
        sql,
        open: () => this.#work.open(),
        workerId,
        functionName,
        startMode: platform.startMode,
        executionId,
      })
      this.#registered = true
      this.#options.connections.handlers.readArrays(arrayTypes(started.arrayTypes))
      this.#queueName = started.queueName
      const tracing = await openTracing()
      this.#spans = tracing && new TaskSpans(tracing, sql, workerId, started.queueName)
    } catch (error) {
      await this.#reportStartFailure(error)
      await this.#abandonStart()
      throw error
    }
    // The host may have told us to stop while we were starting.
    if (this.#lifecycle.state !== 'starting') {
      await this.#abandonStart()
      throw this.#shutDownWhileStarting()
    }
    const { state } = started
    if (state !== 'running') {
      if (state === 'fenced' && this.#options.announcesFence !== false) {
        this.#emit({ level: 'info', event: 'worker.fenced' })
      }
      await this.#abandonStart()
      if (state === 'fenced') return 'fenced'
      throw new Error(`The database takes the new worker ${workerId} for ${state}.`)
    }
    this.#run(started)
    return 'running'
  }

  #run({ workers, maxConnections }: Started): void {
    const { sql, spareSql, settings, workerId, platform, connections, executionId } = this.#options
    this.#lifecycle.transition('running')
    this.#poller = new Poller({
      source: this.#work,
      maxConcurrent: settings.maxConcurrent,
      batchSize: settings.batchSize,
      pollIntervalMs: settings.pollIntervalMs,
      maxPollIntervalMs: settings.maxPollIntervalMs,
      activeCount: () => this.#executor.activeCount,
      solitude: this.#options.solitude,
      onClaimed: (task) => this.#executor.start(task),
      onAnswered: (sentAt) => this.#heartbeat?.claimed(sentAt),
      onState: (state) => this.#deprecate(state),
      emit: (event) => this.#emit(event),
    })
    this.#heartbeat = new Heartbeat({
      beat: () => this.#beat(),
      ...(spareSql === undefined ? {} : { beatElsewhere: () => spareSql.heartbeat(workerId) }),
      onState: (state) => {
        if (state !== 'running') this.#deprecate(state)
      },
      onFailure: (error) => this.#heartbeatFailed(error),
    })
    this.#usage = new UsageReport({
      measure: () => ({ tasks: this.#completed + this.#failed, cpuMs: platform.cpuMs() }),
      send: (usage) => sql.reportUsage(workerId, usage),
      onFailure: (error) => this.#emit({ level: 'warn', event: 'usage.unreported', reason: databaseReason(error) }),
    })
    // A worker that is replaced finishes beside its successor.
    const connectionsNeeded =
      2 *
      (workers.length === 0 ? [1] : workers).reduce(
        (sum, count) => sum + connectionsOf(count, settings.maxPgConnections),
        0,
      )
    this.#emit({
      level: 'info',
      event: 'worker.started',
      platform: platform.name,
      maxConcurrent: settings.maxConcurrent,
      maxPgConnections: settings.maxPgConnections,
      preparedStatements: connections.prepared,
      connectionsNeeded,
      maxConnections,
      executionId,
    })
    if (connectionsNeeded > maxConnections) this.#emit(connectionsShort(connectionsNeeded, maxConnections))
    this.#heartbeat.start()
    this.#usage.start()
    this.#poller.start()
    if (platform.wallClockMs !== null) {
      const left = platform.wallClockMs * CLAIMING_PART_OF_LIFE - platform.ageMs()
      this.#halfLife = setTimeout(() => this.#deprecate('wall_clock'), Math.min(Math.max(left, 0), MAX_TIMER_MS))
    }
  }

  async #beat(): Promise<WorkerState> {
    await this.#tellDeprecation()
    return this.#options.sql.heartbeat(this.#options.workerId)
  }

  async #sayDeprecated(): Promise<void> {
    this.#deprecationUntold = true
    await this.#tellDeprecation().catch((error) => this.#heartbeatFailed(error))
  }

  /** Said again with the next heartbeat if it fails: until then nobody takes over. */
  async #tellDeprecation(): Promise<void> {
    if (!this.#deprecationUntold) return
    await this.#options.sql.deprecateWorker(this.#options.workerId)
    this.#deprecationUntold = false
  }

  #heartbeatFailed(error: unknown): void {
    this.#emit({ level: 'warn', event: 'heartbeat.failed', reason: databaseReason(error) })
  }

  /** Claims nothing more and lets started handlers finish. */
  #deprecate(reason: string): void {
    if (this.#lifecycle.state !== 'running') return
    this.#lifecycle.transition('deprecated')
    this.#poller?.stopClaiming()
    this.#emit({ level: 'info', event: 'worker.deprecated', reason, startedTasks: this.#executor.activeCount })
    // Only what the database did not say itself has to be told: a fresh worker may then take over.
    const told = SAID_BY_THE_DATABASE.has(reason) ? undefined : this.#sayDeprecated()
    void Promise.all([told, this.#poller?.drained()]).then(() => {
      if (this.#lifecycle.state === 'deprecated') this.#leave(reason)
    })
  }

  #drain(reason: string, limitMs: number): void {
    this.#deprecate(reason)
    this.#drainLimit ??= setTimeout(() => this.#stopNow(reason), Math.min(limitMs, MAX_TIMER_MS))
  }

  /** Handlers get the grace, with their signals aborted; then the end. */
  #stopNow(reason: string): void {
    const { state } = this.#lifecycle
    if (state === 'starting') {
      this.#lifecycle.transition('stopping')
      this.#shutdown.abort(new WorkerShutdownError(reason))
      return
    }
    // A host may kill us before the farewell: said now, a fresh worker takes over at once instead of after a missed heartbeat.
    if (state === 'running' && this.#executor.activeCount > 0) void this.#sayDeprecated()
    if (state === 'running' || state === 'deprecated') this.#leave(reason)
  }

  #leave(reason: string): void {
    this.#lifecycle.transition('stopping')
    this.#leaving ??= this.#sayFarewell(reason)
  }

  async #sayFarewell(reason: string): Promise<void> {
    clearTimeout(this.#halfLife)
    clearTimeout(this.#drainLimit)
    const poller = this.#poller
    const startedTasks = this.#executor.activeCount
    this.#emit({ level: 'info', event: 'worker.stopping', reason, startedTasks })
    poller?.stopClaiming()
    this.#shutdown.abort(new WorkerShutdownError(reason))
    // Handlers first, then what they left to tell; a claim under way is given back by the poller meanwhile.
    await within(this.#executor.idle(), SHUTDOWN_GRACE_MS)
    const unended = this.#executor.activeCount
    if (poller !== undefined) {
      await within(unended > 0 ? poller.told() : poller.drained(), FAREWELL_MS)
      poller.end()
    }
    this.#heartbeat?.stop()
    this.#work.close()
    const told = this.#usage?.stop()
    const stopped = this.#options.sql.markWorkerStopped(this.#options.workerId).catch(() => {})
    await within(Promise.all([told, stopped]), FAREWELL_MS)
    await within(this.#spans?.flush().catch(() => {}) ?? Promise.resolve(), FAREWELL_MS)
    await this.#options.connections.close(FAREWELL_MS)
    this.#finish()
    this.#emit({
      level: 'info',
      event: 'worker.stopped',
      reason,
      completedTasks: this.#completed,
      failedTasks: this.#failed,
      releasedTasks: this.#released,
      leftTasks: unended + (poller?.pendingCount ?? 0),
      databaseCalls: poller?.databaseCalls ?? 0,
      lifeMs: Math.round(performance.now() - this.#startedAt),
    })
  }

  /** To the log, and to the database for those who cannot see it: it also paces the next pings. */
  async #reportStartFailure(error: unknown): Promise<void> {
    if (this.#lifecycle.state !== 'starting') return
    const parts = errorParts(error)
    this.#emit({ level: 'error', event: 'worker.start_failed', ...parts })
    const message = [`${parts.code}: ${parts.message}`, parts.detail, parts.hint].filter(Boolean).join(' ')
    const reported = this.#options.sql.reportStartFailure(this.#options.functionName, message).catch((reason) => {
      this.#emit({ level: 'warn', event: 'worker.start_failure_unreported', reason: databaseReason(reason) })
    })
    await within(reported, FAREWELL_MS)
  }

  /** A start that came to nothing leaves no live row behind. */
  async #abandonStart(): Promise<void> {
    if (this.#registered) {
      await within(
        this.#options.sql.markWorkerStopped(this.#options.workerId).catch(() => {}),
        FAREWELL_MS,
      )
    }
    await this.#options.connections.close(FAREWELL_MS)
    this.#finish()
  }

  #finish(): void {
    this.#lifecycle.transition('stopped')
    this.#markStopped()
  }

  #sleepWhileStarting(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = this.#shutdown
      if (signal.aborted) return reject(signal.reason)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal.reason)
      }
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  #shutDownWhileStarting(): StarflowError {
    return new WorkerShutdownError('stopped while starting')
  }

  #emit(event: WorkerEventBody): void {
    const { functionName, workerId, subscription, logger } = this.#options
    const identity: WorkerIdentity = {
      functionName,
      workerId,
      ...(this.#queueName === undefined ? {} : { queueName: this.#queueName }),
      flowSlug: subscription.flowSlug,
      stepSlug: subscription.stepSlug,
    }
    // An event about a task names the task's step, which says more than the subscription's.
    try {
      logger({ ...identity, ...event } as WorkerEvent)
    } catch {
      // A log that fails must not cost a task its slot.
    }
  }
}

function connectionsShort(connectionsNeeded: number, maxConnections: number): WorkerEventBody {
  return {
    level: 'warn',
    event: 'connections.short',
    connectionsNeeded,
    maxConnections,
    hint: 'Lower maxPgConnections, connect through the transaction pooler (port 6543), or host several queues in one function.',
  }
}

/** Why a worker deprecates itself when the database tells it to. */
const SAID_BY_THE_DATABASE: ReadonlySet<string> = new Set<Exclude<WorkerState, 'running'>>([
  'deprecated',
  'fenced',
  'unknown',
])

/** Waits for `promise`, `limitMs` at most. */
async function within(promise: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  await Promise.race([promise, limit])
  clearTimeout(timer)
}
