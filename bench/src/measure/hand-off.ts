import { setTimeout as delay } from 'node:timers/promises'
import type { BenchCluster } from '../cluster.ts'
import type { Contender, Session, Workload } from '../contender.ts'
import type { Figures } from '../report/row.ts'
import { difference, PostgresMeter } from './postgres-meter.ts'
import { Progress } from './progress.ts'
import { quantile } from './quantile.ts'

export interface WorkerMeasurement {
  readonly seconds: number
  readonly limitSeconds: number
  /** How many runs one after the other, for the latency of an idle system. */
  readonly idleRuns: number
  /** The part of the throughput just measured at which latency under load is taken. */
  readonly load: number
}

const WARM_UP_RUNS = 50
const WARM_UP_LIMIT_MS = 8000
/** A run that an idle system does not finish by then is given up. */
const IDLE_LIMIT_MS = 15_000
const DRAIN_LIMIT_MS = 60_000
const TICK_MS = 10

/**
 * One session of real workers in three parts: as fast as they go, one run at a time, and at a part of their full speed
 * with runs coming in evenly. Latency is from the end of a step's handler to the beginning of the next one's.
 */
export async function measureWorkers(
  cluster: BenchCluster,
  contender: Contender,
  workload: Workload,
  options: WorkerMeasurement,
): Promise<Figures> {
  const progress = new Progress()
  const session = await contender.open(cluster, workload, progress)
  const watcher = cluster.connect(session.database)
  const meter = new PostgresMeter(cluster.server.pid, watcher)
  try {
    await session.startWorkers()
    await make(session, WARM_UP_RUNS)
    await progress.until(WARM_UP_RUNS, WARM_UP_LIMIT_MS)
    await settle(session, progress)

    const runs = Math.max(1, Math.round(contender.pace(workload) * options.seconds))
    const before = { postgres: await meter.read(), client: clientCpuMs(session) }
    await make(session, runs)
    await progress.until(runs, options.limitSeconds * 1000)
    const { steps, seconds } = progress
    const postgres = difference(before.postgres, await meter.read())
    const clientMs = clientCpuMs(session) - before.client
    // What is left must not be in the way of the next part.
    await progress.until(runs, DRAIN_LIMIT_MS)
    const counts = await settle(session, progress)
    const stepsPerSecond = steps / seconds

    await oneByOne(session, progress, options)
    await session.workers?.report()
    const idle = [...progress.handOffs]
    progress.reset()

    await evenly(session, (stepsPerSecond / workload.steps) * options.load, options, progress)
    await session.workers?.report()
    const loaded = [...progress.handOffs]
    await session.stopWorkers()
    return {
      stepsPerSecond,
      idleP50: quantile(idle, 0.5),
      idleP95: quantile(idle, 0.95),
      idleP99: quantile(idle, 0.99),
      loadedP50: quantile(loaded, 0.5),
      loadedP95: quantile(loaded, 0.95),
      loadedP99: quantile(loaded, 0.99),
      clientUsPerStep: (clientMs * 1000) / steps,
      postgresUsPerStep: (postgres.cpuMs * 1000) / steps,
      callsPerTask: counts === undefined ? Number.NaN : counts.calls / counts.settledTasks,
      settledPerCall: counts === undefined ? Number.NaN : counts.settledTasks / counts.settlingCalls,
    }
  } finally {
    await watcher.end()
    await session.close()
  }
}

async function oneByOne(session: Session, progress: Progress, options: WorkerMeasurement): Promise<void> {
  const deadline = performance.now() + options.limitSeconds * 1000
  for (let run = 1; run <= options.idleRuns && performance.now() < deadline; run++) {
    await make(session, 1)
    if (!(await progress.until(run, IDLE_LIMIT_MS))) return
  }
}

/** An open loop: runs come when they are due, however the system is doing. */
async function evenly(
  session: Session,
  runsPerSecond: number,
  options: WorkerMeasurement,
  progress: Progress,
): Promise<void> {
  const startedAt = performance.now()
  const total = Math.max(1, Math.round(runsPerSecond * options.seconds))
  let made = 0
  while (made < total) {
    const due = Math.min(total, Math.ceil(((performance.now() - startedAt) / 1000) * runsPerSecond))
    if (due > made) await make(session, due - made)
    made = Math.max(made, due)
    await delay(TICK_MS)
  }
  await progress.until(total, options.limitSeconds * 1000)
}

async function make(session: Session, runs: number): Promise<void> {
  if (session.start !== null) await session.start(runs)
  else session.expect?.(runs)
}

/** Ends a part: what was counted is taken away, so that the next one begins at nothing. */
async function settle(session: Session, progress: Progress) {
  const counts = await session.workers?.report()
  progress.reset()
  return counts
}

function clientCpuMs(session: Session): number {
  if (session.workers !== undefined) return session.workers.cpuMs()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
