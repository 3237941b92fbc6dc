import type { Contender } from '../contender.ts'
import { CONTENDERS } from '../contenders/all.ts'
import { difference, PostgresMeter } from '../measure/postgres-meter.ts'
import { Progress } from '../measure/progress.ts'
import type { Figures } from '../report/row.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

const WARM_UP_RUNS = 1000

export const bulkStart: Scenario = {
  name: 'bulk-start',
  title: 'Bulk start',
  about:
    'One client makes runs durable, 1 000 in each call where the system has such a call (DBOS enqueues ten at a time, one by one). Nobody works.',
  columns: [
    { figure: 'startsPerSecond', title: 'starts/s' },
    { figure: 'walPerRun', title: 'WAL B/run' },
    { figure: 'postgresUsPerRun', title: 'Postgres µs/run' },
  ],
  run: (bench) =>
    interleave(
      bench,
      [3, 1].flatMap((steps) =>
        // DBOS called directly cannot start a run without running it.
        CONTENDERS.filter(({ name }) => name !== 'dbos' && !name.endsWith(', tuned')).map((contender) => ({
          labels: { steps, system: contender.name },
          measure: () => startMany(bench, contender, steps),
        })),
      ),
    ),
}

async function startMany({ cluster, scale }: Bench, contender: Contender, steps: number): Promise<Figures> {
  const session = await contender.open(cluster, { steps, clients: 1, batch: 10 }, new Progress())
  const watcher = cluster.connect(session.database)
  const meter = new PostgresMeter(cluster.server.pid, watcher)
  try {
    const runs = Math.max(50, Math.round(contender.startPace * scale.seconds))
    await session.start!(Math.min(WARM_UP_RUNS, runs))
    const before = await meter.read()
    const startedAt = performance.now()
    await session.start!(runs)
    const seconds = (performance.now() - startedAt) / 1000
    const used = difference(before, await meter.read())
    return {
      startsPerSecond: runs / seconds,
      walPerRun: used.walBytes / runs,
      postgresUsPerRun: (used.cpuMs * 1000) / runs,
    }
  } finally {
    await watcher.end()
    await session.close()
  }
}
