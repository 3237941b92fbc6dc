import { dbos } from '../contenders/dbos.ts'
import { graphileWorker } from '../contenders/graphile-worker.ts'
import { pgBoss } from '../contenders/pg-boss.ts'
import { starflowSql } from '../contenders/starflow-sql.ts'
import { burnDown } from '../measure/burn-down.ts'
import { COLUMNS } from '../report/column.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

export const snapshot: Scenario = {
  name: 'snapshot',
  title: 'Chain of 3 steps while a snapshot is held open',
  about:
    'As the chain, 4 clients, with and without a REPEATABLE READ transaction that began before the work and stays open: nothing dead can be taken away.',
  columns: [
    COLUMNS.stepsPerSecond,
    COLUMNS.walPerStep,
    COLUMNS.postgresUsPerStep,
    COLUMNS.deadTuples,
    COLUMNS.hotRatio,
  ],
  run: (bench) => {
    const { cluster, scale } = bench
    const contenders = [
      starflowSql(),
      graphileWorker({ isTuned: false }),
      pgBoss({ isTuned: true }),
      dbos({ isQueued: false }),
    ]
    return interleave(
      bench,
      scale.pick([10, 50], [5]).flatMap((batch) =>
        contenders.flatMap((contender) =>
          ['no', 'yes'].map((held) => ({
            labels: { batch, system: contender.name, held },
            measure: () =>
              burnDown(
                cluster,
                contender,
                { steps: 3, clients: 4, batch },
                {
                  seconds: scale.seconds,
                  limitSeconds: scale.limitSeconds,
                  ...(held === 'yes' ? { meanwhile: (database: string) => holdSnapshot(bench, database) } : {}),
                },
              ),
          })),
        ),
      ),
    )
  },
}

async function holdSnapshot({ cluster }: Bench, database: string): Promise<() => Promise<void>> {
  const sql = cluster.connect(database)
  await sql.unsafe('begin isolation level repeatable read; select count(*) from pg_class').simple()
  return async () => {
    await sql.unsafe('rollback').simple()
    await sql.end()
  }
}
