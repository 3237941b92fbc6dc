import { dbos } from '../contenders/dbos.ts'
import { graphileWorker } from '../contenders/graphile-worker.ts'
import { pgBoss } from '../contenders/pg-boss.ts'
import { starflowWorkers } from '../contenders/starflow-workers.ts'
import { measureWorkers } from '../measure/hand-off.ts'
import { COLUMNS } from '../report/column.ts'
import { interleave } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'

const CLIENTS = 3
const LOAD = 0.7

export const workers: Scenario = {
  name: 'workers',
  title: 'End to end through real workers',
  about:
    'The chain of 3 steps, started while the workers run. Hand-off: from the end of a step’s handler to the beginning of the next one’s, in ms: one run at a time (idle), and with runs coming in evenly at 70 % of the steps/s just measured (loaded).',
  columns: [
    COLUMNS.stepsPerSecond,
    ...(['idle', 'loaded'] as const).flatMap((kind) =>
      [50, 95, 99].map((part) => ({ figure: `${kind}P${part}`, title: `${kind} p${part}`, digits: 1 })),
    ),
    { figure: 'clientUsPerStep', title: 'worker µs/task' },
    COLUMNS.postgresUsPerStep,
    { figure: 'callsPerTask', title: 'calls/task', digits: 2 },
    { figure: 'settledPerCall', title: 'settled/call', digits: 1 },
  ],
  run: ({ cluster, scale, note }) =>
    interleave(
      { cluster, scale, note },
      scale.pick([10, 50], [10]).flatMap((batch) =>
        [
          starflowWorkers({ runtime: 'Node' }),
          starflowWorkers({ runtime: 'Deno' }),
          ...(batch === 10
            ? [
                graphileWorker({ isTuned: false }),
                graphileWorker({ isTuned: true }),
                pgBoss({ isTuned: false }),
                dbos({ isQueued: false }),
                dbos({ isQueued: true }),
              ]
            : []),
        ].map((contender) => ({
          labels: { batch, system: contender.name },
          measure: () =>
            measureWorkers(
              cluster,
              contender,
              { steps: 3, clients: CLIENTS, batch },
              {
                seconds: scale.seconds,
                limitSeconds: scale.limitSeconds,
                idleRuns: scale.pick(50, 3),
                load: LOAD,
              },
            ),
        })),
      ),
    ),
}
