import type { RunnerEvent } from '@starflow/engine'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { REQUEST_DURATION_BUCKETS_S } from '../numbers.ts'
import { PROCESS_METRICS } from './metric-definitions.ts'

/** What a process tells of itself. */
export interface ProcessFigures {
  readonly version: string
  readonly role: string
  readonly service: string
  readonly isReady: () => boolean
  /** Of a role that executes runs. */
  readonly runner: { readonly activeRuns: () => number; readonly concurrency: number } | undefined
}

/** Counts what this process does. */
export class ProcessMetrics {
  readonly #registry = new Registry()
  readonly #requests = new Histogram({
    ...this.#options('starflow_http_request_duration_seconds'),
    buckets: [...REQUEST_DURATION_BUCKETS_S],
  })
  readonly #executions = new Counter(this.#options('starflow_runner_executions_total'))
  readonly #attempts = new Counter(this.#options('starflow_runner_node_attempts_total'))

  constructor({ version, role, service, isReady, runner }: ProcessFigures) {
    collectDefaultMetrics({ register: this.#registry })
    new Gauge(this.#options('starflow_build_info')).set({ version, role, service }, 1)
    this.#watch('starflow_ready', () => (isReady() ? 1 : 0))
    if (runner === undefined) return
    this.#watch('starflow_runner_active_runs', runner.activeRuns)
    new Gauge(this.#options('starflow_runner_concurrency')).set(runner.concurrency)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  /** @param endpoint the id of the operation; `none` where nothing answers */
  onAnswered(endpoint: string, status: number, seconds: number): void {
    this.#requests.observe({ endpoint, status: String(status) }, seconds)
  }

  onRunnerEvent(event: RunnerEvent): void {
    if (event.event === 'run.ended') this.#executions.inc({ end: event.end })
    if (event.event === 'node.completed') this.#attempts.inc({ outcome: 'completed' })
    if (event.event === 'node.failed') this.#attempts.inc({ outcome: event.isFinal ? 'failed' : 'retried' })
  }

  #watch(name: keyof typeof PROCESS_METRICS, read: () => number): void {
    new Gauge({
      ...this.#options(name),
      collect() {
        this.set(read())
      },
    })
  }

  #options(name: keyof typeof PROCESS_METRICS) {
    const { help, labels } = PROCESS_METRICS[name]
    return { name, help, labelNames: labels as readonly string[], registers: [this.#registry] }
  }
}
