import { CONTENDERS } from '../contenders/all.ts'
import { burnDown } from '../measure/burn-down.ts'
import { COLUMNS } from '../report/column.ts'
import type { Row } from '../report/row.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

const columns = [
  COLUMNS.stepsPerSecond,
  COLUMNS.allInStepsPerSecond,
  COLUMNS.startsPerSecond,
  COLUMNS.walPerStep,
  COLUMNS.allInWalPerStep,
  COLUMNS.postgresUsPerStep,
  COLUMNS.clientUsPerStep,
  COLUMNS.deadTuples,
  COLUMNS.hotRatio,
]

export const chain: Scenario = {
  name: 'chain',
  title: 'Chain of 3 steps',
  about:
    'All runs are made first, then worked off. Starflow: a private queue per step. Peers: three jobs, each adding the next; a workflow of 3 durable steps.',
  columns,
  run: (bench) => burnDowns(bench, 3),
}

export const jobs: Scenario = {
  name: 'jobs',
  title: 'Single-step flows as plain jobs',
  about: 'As above with one step.',
  columns,
  run: (bench) => burnDowns(bench, 1),
}

async function burnDowns(bench: Bench, steps: number): Promise<readonly Row[]> {
  const { cluster, scale } = bench
  const rows: Row[] = []
  for (const clients of scale.pick(steps === 1 ? [4] : [1, 4, 16], [2])) {
    for (const batch of scale.pick([1, 10, 50], [5])) {
      const cells = CONTENDERS.map((contender) => ({
        labels: { clients, batch, system: contender.name },
        measure: () =>
          burnDown(
            cluster,
            contender,
            { steps, clients, batch },
            { seconds: scale.seconds, limitSeconds: scale.limitSeconds },
          ),
      }))
      rows.push(...(await interleave(bench, cells)))
    }
  }
  return rows
}
