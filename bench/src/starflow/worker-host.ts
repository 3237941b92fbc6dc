// Runs unchanged in Node and in Deno: our packages are imported by path, and nothing of either runtime is used.
import { StarflowSql } from '../../../packages/core/src/index.ts'
import { type AnyFlow, Flow, type StepQueuedFlow, withStepQueues } from '../../../packages/dsl/src/index.ts'
import { subscriptionOf } from '../../../packages/edge-worker/src/subscription.ts'
import { resolveWorkerConfig } from '../../../packages/edge-worker/src/worker-config.ts'
import { WorkerFunction } from '../../../packages/edge-worker/src/worker-function.ts'
import { testPlatform } from '../../../packages/edge-worker/tests/support/test-platform.ts'
import type { Progress } from '../measure/progress.ts'

/** What the workers asked of the database on their hot path. */
export interface CallCounts {
  calls: number
  settlingCalls: number
  settledTasks: number
}

export interface WorkerHost {
  readonly counts: CallCounts
  start(): Promise<void>
  stop(): Promise<void>
}

export interface WorkerHostOptions {
  readonly databaseUrl: string
  readonly maxConcurrent: number
  readonly batchSize: number
}

const SECRET = 'bench'

/** Real workers of the chain of 3 steps, one per step queue, with handlers that do nothing but tell the time. */
export function workerHost({ progress, ...options }: WorkerHostOptions & { readonly progress: Progress }): WorkerHost {
  const done = (key: string, step: number) => {
    progress.began(key, step)
    progress.ended(key, step === 2)
    return { ok: true, key }
  }
  const flow = withStepQueues(
    new Flow<{ key: string; body: string }>({ slug: 'benchChain' })
      .step({ slug: 's0' }, ({ key }) => done(key, 0))
      .step({ slug: 's1', dependsOn: ['s0'] }, ({ s0 }) => done(s0.key, 1))
      .step({ slug: 's2', dependsOn: ['s1'] }, ({ s1 }) => done(s1.key, 2)),
  )
  return hostWorkers(flow, ['s0', 's1', 's2'], options)
}

/** One worker for each of these steps, in this process. */
export function hostWorkers(
  flow: StepQueuedFlow<AnyFlow>,
  stepSlugs: readonly string[],
  { databaseUrl, maxConcurrent, batchSize }: WorkerHostOptions,
): WorkerHost {
  const counts: CallCounts = { calls: 0, settlingCalls: 0, settledTasks: 0 }
  const platform = testPlatform({ env: { SUPABASE_DB_URL: databaseUrl, STARFLOW_AUTH_SECRET: SECRET } })
  const workerFunction = new WorkerFunction({
    platform,
    connect: (sql) => new CountingSql(sql, counts),
    logger: (event) => {
      if (event.level === 'error' || event.level === 'warn') console.error(JSON.stringify(event))
    },
  })
  const { settings, connection } = resolveWorkerConfig({ maxConcurrent, batchSize })
  for (const stepSlug of stepSlugs) workerFunction.add(subscriptionOf(flow, stepSlug), settings, connection)
  return {
    counts,
    async start() {
      const response = await platform.request('/bench', { secret: SECRET })
      if (response.status !== 200) throw new Error(`The workers did not start: ${await response.text()}`)
    },
    async stop() {
      await workerFunction.stop()
    },
  }
}

class CountingSql extends StarflowSql {
  readonly #counts: CallCounts

  constructor(sql: ConstructorParameters<typeof StarflowSql>[0], counts: CallCounts) {
    super(sql)
    this.#counts = counts
  }

  override async settleAndClaim(call: Parameters<StarflowSql['settleAndClaim']>[0]) {
    this.#count(call.reports.length)
    return await super.settleAndClaim(call)
  }

  override async settleTasks(...call: Parameters<StarflowSql['settleTasks']>) {
    this.#count(call[1].length)
    return await super.settleTasks(...call)
  }

  #count(reports: number): void {
    this.#counts.calls += 1
    if (reports > 0) this.#counts.settlingCalls += 1
    this.#counts.settledTasks += reports
  }
}
