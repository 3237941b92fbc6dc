import type { DATABASE_METRICS } from './metric-definitions.ts'

/** A figure of the database. */
export interface MetricSample {
  readonly metric: keyof typeof DATABASE_METRICS
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Where the figures of the database come from. */
export interface MetricsSource {
  /** Gives up by itself when there is no answer in time. */
  read(): Promise<readonly MetricSample[]>
}
