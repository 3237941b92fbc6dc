import type { WorkflowStateAdapter } from '@starflow/engine'
import { MAX_KEPT_LOGS, MAX_PAGE_SIZE } from '../numbers.ts'
import { RunLog } from './run-log.ts'

interface KeptLog {
  readonly log: RunLog
  afterId: string | undefined
  /** Settles when the last look that was begun has ended. */
  reading: Promise<void>
}

/**
 * What runs on runners have come to. A run that is looked at again and again is read on from where the last look ended: its log only grows,
 * and may have tens of thousands of events.
 */
export class RunLogs {
  readonly #reads: Pick<WorkflowStateAdapter, 'readEvents'>
  readonly #kept = new Map<string, KeptLog>()

  constructor(reads: Pick<WorkflowStateAdapter, 'readEvents'>) {
    this.#reads = reads
  }

  /** The log up to now, at least. */
  async read(runId: string): Promise<RunLog> {
    const kept = this.#kept.get(runId) ?? { log: new RunLog(), afterId: undefined, reading: Promise.resolve() }
    // The one that was not looked at for longest is the first.
    this.#kept.delete(runId)
    this.#kept.set(runId, kept)
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT_LOGS) break
      this.#kept.delete(oldest)
    }
    // One look after the other: two that fold the same events would count them twice.
    kept.reading = kept.reading.catch(() => {}).then(() => this.#catchUp(runId, kept))
    await kept.reading
    return kept.log
  }

  async #catchUp(runId: string, kept: KeptLog): Promise<void> {
    for (let found = MAX_PAGE_SIZE; found >= MAX_PAGE_SIZE; ) {
      const events = await this.#reads.readEvents(runId, { afterId: kept.afterId, limit: MAX_PAGE_SIZE })
      for (const event of events) kept.log.apply(event)
      kept.afterId = events.at(-1)?.id ?? kept.afterId
      found = events.length
    }
  }
}
