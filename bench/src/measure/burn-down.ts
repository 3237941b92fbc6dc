import type { BenchCluster } from '../cluster.ts'
import type { Contender, Workload } from '../contender.ts'
import type { Figures } from '../report/row.ts'
import { difference, PostgresMeter, readTuples } from './postgres-meter.ts'
import { Progress } from './progress.ts'

export interface BurnDownOptions {
  /** How long the measured part should take at the contender's pace. */
  readonly seconds: number
  /** Work that is not done by then is left; the figures are of what was. */
  readonly limitSeconds: number
  /** Something that goes on beside the measured work; called before it, and ended after it. */
  readonly meanwhile?: (database: string) => Promise<() => Promise<void>>
}

const WARM_UP_RUNS = 100
const WARM_UP_LIMIT_MS = 3000

/**
 * All runs are made first, then worked off. Fresh database, warm-up on its own runs (plans, pages of a new database),
 * tables analysed: what is measured is the steady state.
 */
export async function burnDown(
  cluster: BenchCluster,
  contender: Contender,
  workload: Workload,
  options: BurnDownOptions,
): Promise<Figures> {
  const progress = new Progress()
  const session = await contender.open(cluster, workload, progress)
  const watcher = cluster.connect(session.database)
  const superuser = cluster.superuser(session.database)
  const meter = new PostgresMeter(cluster.server.pid, watcher)
  try {
    const pace = contender.pace(workload)
    const warmUp = Math.min(WARM_UP_RUNS, pace)
    await makeRuns(warmUp)
    await session.startWorkers()
    await progress.until(warmUp, WARM_UP_LIMIT_MS)
    await session.stopWorkers()
    progress.reset()

    const runs = Math.max(1, Math.round(pace * options.seconds))
    const beforeStart = await meter.read()
    const startedAt = performance.now()
    await makeRuns(runs)
    const startSeconds = (performance.now() - startedAt) / 1000
    const started = difference(beforeStart, await meter.read())
    await superuser`analyze`
    const end = (await options.meanwhile?.(session.database)) ?? (async () => {})

    const beforeWork = await meter.read()
    const ownCpu = process.cpuUsage()
    await session.startWorkers()
    const isDone = await progress.until(runs, options.limitSeconds * 1000)
    const { steps, seconds: workSeconds } = progress
    await session.stopWorkers()
    const own = process.cpuUsage(ownCpu)
    const worked = difference(beforeWork, await meter.read())
    const allSteps = progress.steps
    await end()
    if (isDone) {
      const problems = (await session.problems?.(runs)) ?? ''
      if (problems !== '') throw new Error(`${contender.name}: ${problems}`)
    }
    await otherSessionsEnded(watcher)
    const tuples = await readTuples(watcher)
    const startsAreMeasured = session.start !== null
    const startShare = startsAreMeasured ? (startSeconds * steps) / (runs * workload.steps) : 0
    return {
      stepsPerSecond: steps / workSeconds,
      allInStepsPerSecond: steps / (workSeconds + startShare),
      startsPerSecond: startsAreMeasured ? runs / startSeconds : Number.NaN,
      walPerStep: worked.walBytes / allSteps,
      allInWalPerStep:
        worked.walBytes / allSteps + (startsAreMeasured ? started.walBytes / (runs * workload.steps) : 0),
      postgresUsPerStep: (worked.cpuMs * 1000) / allSteps,
      clientUsPerStep: (own.user + own.system) / allSteps,
      deadTuples: tuples.deadTuples,
      hotRatio: tuples.hotRatio,
    }
  } finally {
    await watcher.end()
    await superuser.end()
    await session.close()
  }

  async function makeRuns(runs: number): Promise<void> {
    if (session.start !== null) await session.start(runs)
    else session.expect?.(runs)
  }
}

/** Backends report their tuples when they end, or now and then; those of the workers have just been told to end. */
async function otherSessionsEnded(sql: ReturnType<BenchCluster['connect']>): Promise<void> {
  const deadline = performance.now() + 2000
  while (performance.now() < deadline) {
    const [row] = await sql<[{ others: string }]>`
      select count(*) as others from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
        and state = 'active'`
    if (Number(row.others) === 0) break
  }
  // Of connections that stay open (a pool's), the figures come within a second.
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await sql`select pg_stat_clear_snapshot()`
}
