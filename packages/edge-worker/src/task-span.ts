import type { OpenSpan, SpanStart, Tracing } from '@starflow/tracing'
import { RunCache } from './run-cache.ts'
import type { TaskOutcome } from './task-outcome.ts'
import type { ClaimedWork } from './work.ts'
import type { WorkerSql } from './worker-sql.ts'

/** Makes the spans of a worker's attempts: children of the span that started the run, or that sent the message. */
export class TaskSpans {
  readonly #tracing: Tracing
  readonly #sql: Pick<WorkerSql, 'traceparent'>
  readonly #workerId: string
  readonly #queueName: string
  readonly #parents = new RunCache<string | null>()

  constructor(tracing: Tracing, sql: Pick<WorkerSql, 'traceparent'>, workerId: string, queueName: string) {
    this.#tracing = tracing
    this.#sql = sql
    this.#workerId = workerId
    this.#queueName = queueName
  }

  /** Never rejects: a parent that cannot be asked for costs the place in its trace, and no attempt. */
  async begin(work: ClaimedWork): Promise<OpenSpan> {
    const parent = await this.#parentOf(work).catch(() => null)
    return this.#tracing.begin({ kind: 'consumer', parent, ...this.#descriptionOf(work) })
  }

  flush(): Promise<void> {
    return this.#tracing.flush()
  }

  async #parentOf(work: ClaimedWork): Promise<string | null> {
    if ('runId' in work) return await this.#parents.get(work.runId, () => this.#sql.traceparent(work.runId))
    // The sender may be anybody: whatever is no traceparent is no parent.
    const sent = (work.headers as { readonly traceparent?: unknown } | null)?.traceparent
    return typeof sent === 'string' ? sent : null
  }

  #descriptionOf(work: ClaimedWork): Pick<SpanStart, 'name' | 'attributes'> {
    const shared = {
      ...{ 'starflow.queue': this.#queueName, 'starflow.worker_id': this.#workerId },
      'starflow.attempt': work.attempt,
    }
    if (!('runId' in work)) {
      return { name: `execute ${this.#queueName}`, attributes: { ...shared, 'starflow.message_id': work.messageId } }
    }
    return {
      name: `execute ${work.flowSlug}.${work.stepSlug}`,
      attributes: {
        ...{ 'starflow.flow': work.flowSlug, 'starflow.step': work.stepSlug, 'starflow.run_id': work.runId },
        ...{ 'starflow.placement': 'queue', 'starflow.task_index': work.taskIndex, ...shared },
      },
    }
  }
}

/** Says how an attempt ended, and ends its span. */
export function endTaskSpan(span: OpenSpan, outcome: TaskOutcome): void {
  if (outcome.kind === 'release') span.set({ 'starflow.outcome': 'released' })
  else if (outcome.kind === 'lost') span.set({ 'starflow.outcome': 'lost' })
  else if (outcome.kind === 'settled') span.set({ 'starflow.outcome': outcome.accepted ? 'completed' : 'refused' })
  else if (outcome.report.status === 'completed') span.set({ 'starflow.outcome': 'completed' })
  else {
    span.set({ 'starflow.outcome': 'failed' })
    span.fail(outcome.report.error?.name ?? 'Error')
  }
  span.end()
}
