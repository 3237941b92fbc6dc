import { LAG_PAGE_MS, LAG_WARN_MS } from '@starflow/engine'
import type { MetricSample, MetricsSource } from '../metrics/metrics-source.ts'
import { outboxGauge } from '../mirror/outbox-gauge.ts'
import { type SqlFunctions, scalar } from './sql-functions.ts'

interface Metrics {
  readonly samples: readonly MetricSample[]
  readonly lag: {
    readonly fresh: number
    readonly late: number
    readonly overdue: number
    readonly oldest_ms: number
  } | null
}

/** The figures of Postgres: one call of one SQL function. */
export class SqlMetricsSource implements MetricsSource {
  readonly #call: SqlFunctions

  constructor(call: SqlFunctions) {
    this.#call = call
  }

  async read(): Promise<readonly MetricSample[]> {
    const { samples, lag } = scalar<Metrics>(
      await this.#call('metrics', { warn_ms: LAG_WARN_MS, page_ms: LAG_PAGE_MS }),
    )
    return lag === null ? samples : [...samples, ...outboxSamples(lag)]
  }
}

function outboxSamples(lag: NonNullable<Metrics['lag']>): MetricSample[] {
  return [
    ...outboxGauge(lag).map(({ ageBucket, changes }) => ({
      ...{ metric: 'starflow_outbox_unapplied' as const, value: changes },
      labels: { age_bucket: ageBucket },
    })),
    { metric: 'starflow_outbox_oldest_age_seconds', labels: {}, value: lag.oldest_ms / 1000 },
  ]
}
