import { CONTENDERS } from '../contenders/all.ts'
import { burnDown } from '../measure/burn-down.ts'
import { COLUMNS } from '../report/column.ts'
import type { Row } from '../report/row.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

const ALL_BATCHES = [1, 10, 50]

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
    'All runs are made first, then worked off by 4 clients. Starflow: a private queue per step. Peers: three jobs, each adding the next; a workflow of 3 durable steps.',
  columns,
  run: (bench) =>
    burnDowns(bench, { steps: 3, clients: [bench.scale.pick(4, 2)], batches: bench.scale.pick(ALL_BATCHES, [5]) }),
}

export const clients: Scenario = {
  name: 'clients',
  title: 'Chain of 3 steps with 1 and 16 clients',
  about: 'As above. Left out is what would only wait: pg-boss at its defaults, and queued DBOS.',
  columns,
  run: (bench) =>
    burnDowns(bench, {
      steps: 3,
      clients: bench.scale.pick([1, 16], [1]),
      batches: bench.scale.pick(ALL_BATCHES, [5]),
      leaveOut: ['pg-boss', 'dbos, queued'],
    }),
}

export const jobs: Scenario = {
  name: 'jobs',
  title: 'Single-step flows as plain jobs',
  about: 'As the chain, with one step.',
  columns,
  run: (bench) =>
    burnDowns(bench, { steps: 1, clients: [bench.scale.pick(4, 2)], batches: bench.scale.pick(ALL_BATCHES, [5]) }),
}

interface BurnDowns {
  readonly steps: number
  readonly clients: readonly number[]
  readonly batches: readonly number[]
  /** Systems by name. */
  readonly leaveOut?: readonly string[]
}

async function burnDowns(
  bench: Bench,
  { steps, clients: clientCounts, batches, leaveOut = [] }: BurnDowns,
): Promise<readonly Row[]> {
  const { cluster, scale } = bench
  const rows: Row[] = []
  for (const clients of clientCounts) {
    for (const batch of batches) {
      const cells = CONTENDERS.filter(({ name }) => !leaveOut.includes(name)).map((contender) => ({
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
