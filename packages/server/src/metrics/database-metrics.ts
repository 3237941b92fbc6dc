import { Counter, Gauge, Registry } from 'prom-client'
import { METRICS_CACHE_MS } from '../numbers.ts'
import { DATABASE_METRICS } from './metric-definitions.ts'
import type { MetricSample, MetricsSource } from './metrics-source.ts'

/**
 * The figures of the database in the text format, read when somebody asks, once for all who ask within a second. A database that is
 * away costs its figures and nothing else.
 */
export class DatabaseMetrics {
  readonly #source: MetricsSource
  readonly #now: () => number
  #text: { readonly readAt: number; readonly value: Promise<string> } | undefined

  constructor(source: MetricsSource, now: () => number = () => performance.now()) {
    this.#source = source
    this.#now = now
  }

  text(): Promise<string> {
    const now = this.#now()
    if (this.#text === undefined || now - this.#text.readAt >= METRICS_CACHE_MS) {
      this.#text = { readAt: now, value: this.#read() }
    }
    return this.#text.value
  }

  async #read(): Promise<string> {
    try {
      const samples = await this.#source.read()
      return await textOf([...samples, { metric: 'starflow_database_up', labels: {}, value: 1 }])
    } catch {
      return await textOf([{ metric: 'starflow_database_up', labels: {}, value: 0 }])
    }
  }
}

/** In a registry of its own: what was there a moment ago and is gone must not stay. */
async function textOf(samples: readonly MetricSample[]): Promise<string> {
  const registry = new Registry()
  for (const [name, { type, help, labels }] of Object.entries(DATABASE_METRICS)) {
    const own = samples.filter(({ metric }) => metric === name)
    if (own.length === 0) continue
    const configuration = { name, help, labelNames: labels as readonly string[], registers: [registry] }
    const metric = type === 'counter' ? new Counter(configuration) : new Gauge(configuration)
    for (const sample of own) {
      const entries = labels.map((label) => [label, sample.labels[label]])
      metric.inc(Object.fromEntries(entries), sample.value)
    }
  }
  return await registry.metrics()
}
