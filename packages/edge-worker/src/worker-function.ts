import type { Sql } from '@starflow/core'
import { describeError, fromSqlError, isStarflowError, StarflowError } from '@starflow/errors'
import { catchStrayFailures, strayLog } from '@starflow/tracing'
import { errorParts } from './error-parts.ts'
import type { WorkerEvent, WorkerEventBody, WorkerLogger } from './events.ts'
import { CLAIMING_PART_OF_LIFE, FENCED_RETRY_MS, START_RETRY_MAX_MS, START_RETRY_MIN_MS } from './numbers.ts'
import type { Platform } from './platform.ts'
import { RefusedRequests } from './refused-requests.ts'
import { isAuthorised } from './request-auth.ts'
import { type ConnectionSource, isSameSource, SharedConnections } from './shared-connections.ts'
import { Sleeper } from './sleeper.ts'
import { Solitude } from './solitude.ts'
import { checkStepTimeouts } from './step-timeout-check.ts'
import { type Subscription, subscriptionKey } from './subscription.ts'
import { LazySupabaseClient } from './supabase-client.ts'
import { checkTransactionalSteps } from './transactional-step-check.ts'
import { Worker } from './worker.ts'
import type { ResolvedWorkerConfig, WorkerConnection } from './worker-config.ts'
import { openConnections, type WorkerConnections } from './worker-connections.ts'
import { readEnvironment, requireEnvironment, type WorkerEnvironment } from './worker-environment.ts'
import { WorkerShutdownError } from './worker-shutdown-error.ts'
import type { WorkerSql } from './worker-sql.ts'

export interface WorkerFunctionOptions {
  readonly platform: Platform
  /** Makes the SQL client of a connection. */
  readonly connect: (sql: Sql) => WorkerSql
  readonly logger: WorkerLogger
  readonly newWorkerId?: () => string
  readonly open?: typeof openConnections
}

/** What the answer to a request says of a worker. */
export type WorkerAnswer = 'started' | 'running' | 'stopping' | 'fenced'

interface Registration {
  readonly subscription: Subscription
  readonly settings: ResolvedWorkerConfig
  readonly connection: WorkerConnection
  worker: Worker | undefined
  starting: Promise<WorkerAnswer> | undefined
  /** The worker that was kept from claiming by a fence: the next takes over its row. */
  fencedWorkerId: string | undefined
}

/**
 * What hosts workers under one name: an edge function, or a process. Of an edge function the first authorised request
 * starts its workers, one per registered subscription; every later one is told how they are, and replaces those that
 * have stopped. A process starts and replaces them by itself. Both outlive their workers: a start that failed, a fence
 * that was lifted, a drained worker all end in another worker.
 */
export class WorkerFunction {
  readonly #options: WorkerFunctionOptions
  readonly #environment: WorkerEnvironment
  readonly #supabase: LazySupabaseClient
  readonly #registrations = new Map<string, Registration>()
  /** The host's name for this isolate or process; one of our own where it has none. */
  readonly #executionId: string
  #functionName: string | null = null
  #isServing = false
  readonly #sleeper = new Sleeper()
  readonly #solitude = new Solitude()
  readonly #connections: SharedConnections
  /** The last start of a worker of each flow. */
  readonly #starts = new Map<string | null, Promise<unknown>>()
  readonly #refusals: RefusedRequests
  #shutdownReason: string | undefined
  #runningWorkers = 0
  #stopCatching = () => {}

  constructor(options: WorkerFunctionOptions) {
    this.#options = options
    this.#environment = readEnvironment(options.platform.env)
    this.#executionId = this.#environment.executionId ?? crypto.randomUUID()
    this.#supabase = new LazySupabaseClient(this.#environment)
    this.#connections = new SharedConnections(options.open ?? openConnections)
    this.#refusals = new RefusedRequests(this.#environment, (event) => this.#log(event))
  }

  /**
   * Adds a worker and begins to serve.
   *
   * @throws StarflowError SF402 for a second worker on one queue, SF404 for a timeout that outlives this instance,
   * SF414 for a transactional step without a connection
   */
  add(subscription: Subscription, settings: ResolvedWorkerConfig, connection: WorkerConnection): void {
    const key = subscriptionKey(subscription)
    if (this.#registrations.has(key)) throw duplicateWorker(subscription)
    const { platform } = this.#options
    for (const timeout of checkStepTimeouts(subscription, platform.wallClockMs)) this.#log(timeout)
    const transactional = checkTransactionalSteps(subscription, settings, connection)
    for (const event of transactional.events) this.#log(event)
    const entry: Registration = {
      subscription,
      settings: transactional.settings,
      connection,
      worker: undefined,
      starting: undefined,
      fencedWorkerId: undefined,
    }
    this.#registrations.set(key, entry)
    this.#sayWhatIsMissing(connection)
    this.#serve()
    if (platform.startMode === 'process') platform.extendLifetime(this.#keepRunning(key, entry))
  }

  /** Stops all workers and forgets them; requests are answered with `stopping` until another is added. */
  async stop(reason = 'EdgeWorker.stop'): Promise<void> {
    const registrations = [...this.#registrations.values()]
    this.#registrations.clear()
    this.#sleeper.wakeAll()
    await Promise.all(registrations.map((registration) => registration.worker?.stop(reason)))
  }

  /** Answers one request. Everything but an authorised one learns nothing. */
  async handle(request: Request): Promise<Response> {
    if (!(await isAuthorised(request, this.#environment.secrets))) {
      this.#refusals.add(request)
      return json(401, { message: 'Unauthorized' })
    }
    const functionName = this.#functionName ?? this.#options.platform.functionName(request)
    if (functionName === null) {
      return json(400, { message: 'The first segment of the path must be the name of this function.' })
    }
    this.#functionName = functionName
    const answered = this.#answer(functionName)
    // A caller that does not wait for the answer must not take the start with it.
    this.#options.platform.extendLifetime(answered)
    return answered
  }

  #serve(): void {
    const { platform } = this.#options
    if (this.#isServing) return
    this.#isServing = true
    platform.onShutdown((reason) => {
      this.#shutdownReason = reason
      this.#sleeper.wakeAll()
      const drainMs = platform.drainTimeoutMs
      platform.extendLifetime(Promise.all(this.#workers().map((worker) => worker.stop(reason, { drainMs }))))
    })
    platform.serve((request) => this.handle(request))
  }

  /** At once, and all of it: without a secret no request can be authorised, and a 401 tells nothing. */
  #sayWhatIsMissing(connection: WorkerConnection): void {
    // A process tries at once, and says it then.
    if (this.#options.platform.startMode === 'process') return
    try {
      requireEnvironment(this.#environment, needsOf(connection, 'http'))
    } catch (error) {
      this.#log({ level: 'error', event: 'function.unusable', ...errorParts(error) })
    }
  }

  async #answer(functionName: string): Promise<Response> {
    const registrations = [...this.#registrations.values()]
    if (registrations.length === 0) return json(503, { status: 'stopping', workerId: null, functionName })
    const outcomes = await Promise.allSettled(registrations.map((entry) => this.#ensureWorker(entry, functionName)))
    const failure = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failure !== undefined) {
      return json(500, { status: 'failed', functionName, ...errorParts(failure.reason) })
    }
    const answers = outcomes.map((outcome) => (outcome as PromiseFulfilledResult<WorkerAnswer>).value)
    const status = combinedAnswer(answers)
    const workers = registrations.map((entry, index) => ({
      status: answers[index],
      workerId: entry.worker?.workerId ?? null,
      queueName: entry.worker?.queueName ?? null,
    }))
    return json(status === 'stopping' ? 503 : 200, {
      status,
      workerId: workers[0]?.workerId ?? null,
      functionName,
      ...(workers.length > 1 ? { workers } : {}),
    })
  }

  /** A process has nobody who pings it: it starts its workers, waits while it is disabled, and replaces those that end. */
  async #keepRunning(key: string, entry: Registration): Promise<void> {
    const isWanted = () => this.#shutdownReason === undefined && this.#registrations.get(key) === entry
    const functionName = this.#options.platform.functionName(null) ?? 'process'
    this.#functionName = functionName
    // Whoever registers several does so in one go.
    await Promise.resolve()
    for (let failures = 0; isWanted(); ) {
      try {
        const answer = await this.#ensureWorker(entry, functionName)
        failures = 0
        if (answer === 'fenced') await this.#sleeper.sleep(FENCED_RETRY_MS)
        else await entry.worker?.stopped
      } catch (error) {
        if (!isWanted()) return
        if (isFinal(error)) {
          this.#options.platform.cannotGoOn()
          return
        }
        await this.#sleeper.sleep(Math.min(START_RETRY_MIN_MS * 2 ** Math.min(failures++, 20), START_RETRY_MAX_MS))
      }
    }
  }

  async #ensureWorker(entry: Registration, functionName: string): Promise<WorkerAnswer> {
    if (entry.starting !== undefined) return entry.starting
    const state = entry.worker?.state
    if (state === 'running') return 'running'
    if (state !== undefined && state !== 'stopped') return 'stopping'
    // An instance that would not claim any more leaves the work to a fresh one.
    if (this.#shutdownReason !== undefined || this.#isPastClaiming()) return 'stopping'
    entry.starting = this.#startWorker(entry, functionName).finally(() => {
      entry.starting = undefined
    })
    return entry.starting
  }

  async #startWorker(entry: Registration, functionName: string): Promise<WorkerAnswer> {
    const { platform, connect, logger, newWorkerId = () => crypto.randomUUID() } = this.#options
    const { subscription, settings } = entry
    const connections = this.#open(entry, functionName)
    const worker = new Worker({
      workerId: entry.fencedWorkerId ?? newWorkerId(),
      announcesFence: entry.fencedWorkerId === undefined,
      functionName,
      subscription,
      settings,
      platform,
      connections,
      sql: connect(connections.own),
      connect,
      spareSql: connections.spare && connect(connections.spare),
      supabase: this.#supabase,
      executionId: this.#executionId,
      solitude: this.#solitude,
      logger,
    })
    entry.worker = worker
    // Without this the host drops an instance at half of its life although handlers still run.
    platform.extendLifetime(worker.stopped)
    try {
      const isRunning = (await this.#inTurn(subscription.flowSlug, () => worker.start())) === 'running'
      entry.fencedWorkerId = isRunning ? undefined : worker.workerId
      if (isRunning) this.#catchStrays(worker)
      return isRunning ? 'started' : 'fenced'
    } catch (error) {
      if (error instanceof WorkerShutdownError) return 'stopping'
      throw error
    }
  }

  /** Workers of one flow start one after the other: a flow whose definition is locked holds up one of the shared connections, not all. */
  #inTurn<T>(flowSlug: string | null, start: () => Promise<T>): Promise<T> {
    const before = this.#starts.get(flowSlug) ?? Promise.resolve()
    const turn = before.then(start, start)
    this.#starts.set(flowSlug, turn)
    return turn
  }

  /** While workers run, a failure that no code waits for costs no more than the attempt that it belongs to. */
  #catchStrays(worker: Worker): void {
    if (this.#runningWorkers++ === 0) {
      this.#stopCatching = catchStrayFailures((error) => {
        const message = describeError(error).message.slice(0, 1000)
        this.#log({ level: 'error', event: 'function.stray', ...strayLog(error), message })
      })
    }
    void worker.stopped.then(() => {
      if (--this.#runningWorkers === 0) this.#stopCatching()
    })
  }

  /** Connects nothing yet; refuses an environment in which it never could. */
  #open(entry: Registration, functionName: string): WorkerConnections {
    try {
      requireEnvironment(this.#environment, needsOf(entry.connection, this.#options.platform.startMode))
      const source = this.#sourceOf(entry)
      const workers = [...this.#registrations.values()].filter((other) => isSameSource(source, this.#sourceOf(other)))
      return this.#connections.lend(source, workers.length, `starflow ${functionName}`, {
        onTimeout: ({ message }) => this.#log({ level: 'warn', event: 'database.timeout', reason: message }),
      })
    } catch (error) {
      this.#log({ level: 'error', event: 'worker.start_failed', ...errorParts(error) })
      throw error
    }
  }

  #sourceOf({ connection, settings: { maxPgConnections } }: Registration): ConnectionSource {
    return { connection, databaseUrl: this.#environment.databaseUrl, maxPgConnections }
  }

  #isPastClaiming(): boolean {
    const { wallClockMs, ageMs } = this.#options.platform
    return wallClockMs !== null && ageMs() >= wallClockMs * CLAIMING_PART_OF_LIFE
  }

  #workers(): Worker[] {
    return [...this.#registrations.values()].flatMap(({ worker }) => (worker === undefined ? [] : [worker]))
  }

  #log(event: WorkerEventBody): void {
    this.#options.logger({
      ...(this.#functionName === null ? {} : { functionName: this.#functionName }),
      ...event,
    } as WorkerEvent)
  }
}

function needsOf(connection: WorkerConnection, startMode: Platform['startMode']) {
  return {
    databaseUrl: connection.sql === undefined && connection.connectionString === undefined,
    secret: startMode === 'http',
  }
}

/** Refused for what it is, not for the moment: the same start would be refused again. */
function isFinal(error: unknown): boolean {
  const ours = isStarflowError(error) ? error : fromSqlError(error)
  return ours !== undefined && ours.code !== 'SF405' && ours.code !== 'SF408'
}

/** One word for several workers: something new is said first, then what keeps the function from working whole. */
function combinedAnswer(answers: readonly WorkerAnswer[]): WorkerAnswer {
  for (const answer of ['stopping', 'fenced', 'started'] as const) {
    if (answers.includes(answer)) return answer
  }
  return 'running'
}

function duplicateWorker(subscription: Subscription): StarflowError {
  const { flowSlug, stepSlug } = subscription
  const what =
    subscription.kind === 'queue'
      ? `queue "${subscription.queueName}"`
      : stepSlug === null
        ? `flow "${flowSlug}"`
        : `step "${stepSlug}" of flow "${flowSlug}"`
  return new StarflowError({
    code: 'SF402',
    message: `This function has a worker for ${what} already.`,
    detail: 'Two workers of one function would poll the same queue.',
    hint: 'Keep one EdgeWorker.start; raise maxConcurrent, or deploy another instance as a function of its own.',
    fields: { flowSlug, stepSlug },
  })
}

function json(status: number, body: object): Response {
  const headers = { 'content-type': 'application/json', ...(status === 503 ? { 'retry-after': '1' } : {}) }
  return new Response(JSON.stringify(body), { status, headers })
}
