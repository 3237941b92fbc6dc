import type {
  ClaimedMessage,
  ClaimedTask,
  MessageReport,
  TaskReport,
  TaskToRelease,
  WorkerSql,
  WorkerState,
} from '../../src/worker-sql.ts'

type SettleAndClaim = Parameters<WorkerSql['settleAndClaim']>[0]

/**
 * Stands in for the database where a test is about the worker alone: one queue of tasks, every report accepted. It
 * asserts nothing of what SQL does. Any method can be replaced by a test.
 */
export class FakeSql implements WorkerSql {
  readonly queue: ClaimedTask[] = []
  readonly calls: string[] = []
  readonly claims: SettleAndClaim[] = []
  readonly reports: TaskReport[] = []
  /** How many reports each settling call carried. */
  readonly batches: number[] = []
  readonly released: TaskToRelease[] = []
  readonly startFailures: string[] = []
  /** A queue without a flow. */
  readonly messages: ClaimedMessage[] = []
  readonly messageReports: MessageReport[] = []
  /** The message ids of each extension. */
  readonly extensions: string[][] = []
  /** Messages that somebody else has read. */
  readonly lost = new Set<string>()
  workerState: WorkerState = 'running'
  compileAnswers: Partial<Awaited<ReturnType<WorkerSql['ensureFlowCompiled']>>>[] = [{ status: 'verified' }]
  readonly compiles: Parameters<WorkerSql['ensureFlowCompiled']>[0][] = []
  readonly usages: Parameters<WorkerSql['reportUsage']>[1][] = []
  registered: Parameters<WorkerSql['registerWorker']>[0] | undefined
  #changed: (() => void)[] = []

  enqueue(count: number, task: Partial<ClaimedTask> = {}): void {
    for (let index = 0; index < count; index++) {
      this.queue.push({
        flowSlug: 'orders',
        runId: `run-${index}`,
        stepSlug: 'pack',
        taskIndex: 0,
        messageId: String(index + 1),
        attempt: 1,
        input: {},
        flowInput: null,
        timeoutSeconds: 60,
        ...task,
      })
    }
  }

  /** Settles when `condition` holds; looked at after every call. */
  async until(condition: (sql: this) => boolean): Promise<void> {
    while (!condition(this)) await new Promise<void>((resolve) => this.#changed.push(resolve))
  }

  async ensureFlowCompiled(call: Parameters<WorkerSql['ensureFlowCompiled']>[0]) {
    this.#called('ensureFlowCompiled')
    this.compiles.push(call)
    const answer = this.compileAnswers.length > 1 ? this.compileAnswers.shift() : this.compileAnswers[0]
    return {
      status: 'verified' as const,
      mismatchKind: null,
      differences: [],
      options: [],
      routes: [{ stepSlug: 'pack', stepIndex: 0, queueName: 'persisted_queue' }],
      ...answer,
    }
  }

  async lookAround() {
    return { missingFunctions: [], maxConnections: 100, workers: [1], arrayTypes: [] }
  }

  async registerWorker(worker: Parameters<WorkerSql['registerWorker']>[0]) {
    this.#called('registerWorker')
    this.registered = worker
    return this.workerState
  }

  async heartbeat() {
    this.#called('heartbeat')
    return this.workerState
  }

  async deprecateWorker() {
    this.#called('deprecateWorker')
    this.workerState = 'deprecated'
  }

  async markWorkerStopped() {
    this.#called('markWorkerStopped')
  }

  async reportUsage(_workerId: string, usage: Parameters<WorkerSql['reportUsage']>[1]) {
    this.usages.push(usage)
    this.#called('reportUsage')
  }

  async settleAndClaim(call: SettleAndClaim): ReturnType<WorkerSql['settleAndClaim']> {
    this.claims.push(call)
    this.#settle(call.reports)
    const claimed = this.workerState === 'running' ? this.queue.splice(0, call.qty) : []
    this.#called('settleAndClaim')
    return { worker: this.workerState, claimed, refused: [], unsupported: [], halted: false, stalled: 0, suspects: 0 }
  }

  async settleTasks(_workerId: string, reports: readonly TaskReport[]) {
    this.#settle(reports)
    this.#called('settleTasks')
    return reports.map(({ runId, stepSlug, taskIndex }) => ({
      runId,
      stepSlug,
      taskIndex,
      accepted: true,
      reason: null,
    }))
  }

  async lostAttempts() {
    return []
  }

  async heldRuns(): Promise<string[]> {
    return []
  }

  async releaseTasks(_workerId: string, tasks: readonly TaskToRelease[]) {
    this.released.push(...tasks)
    this.#called('releaseTasks')
    return tasks.length
  }

  async requeueStalledTasks() {
    this.#called('requeueStalledTasks')
    return 0
  }

  async traceparent() {
    this.#called('traceparent')
    return null
  }

  async flowInput() {
    this.#called('flowInput')
    return null
  }

  async stepSize() {
    this.#called('stepSize')
    return 1
  }

  async findWorkerQueue(queueName: string) {
    this.#called('findWorkerQueue')
    return queueName
  }

  async settleAndReadMessages(call: Parameters<WorkerSql['settleAndReadMessages']>[0]) {
    this.messageReports.push(...call.reports)
    const claimed = this.workerState === 'running' ? this.messages.splice(0, call.qty) : []
    this.#called('settleAndReadMessages')
    return { worker: this.workerState, claimed, refused: [] }
  }

  async extendMessages(_queueName: string, messages: readonly { readonly messageId: string }[]) {
    this.extensions.push(messages.map(({ messageId }) => messageId))
    this.#called('extendMessages')
    return messages.map(({ messageId }) => messageId).filter((id) => !this.lost.has(id))
  }

  async reportStartFailure(_functionName: string, message: string) {
    this.startFailures.push(message)
    this.#called('reportStartFailure')
  }

  #settle(reports: readonly TaskReport[]): void {
    this.reports.push(...reports)
    if (reports.length > 0) this.batches.push(reports.length)
  }

  #called(name: string): void {
    this.calls.push(name)
    const waiting = this.#changed
    this.#changed = []
    for (const wake of waiting) wake()
  }
}
