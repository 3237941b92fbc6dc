import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import postgres from 'postgres'
import { median } from '../measure/quantile.ts'
import { slowLink } from '../measure/slow-link.ts'
import type { Figures } from '../report/row.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { chainInputs, compileChain } from '../starflow/chain-flow.ts'

const DELAY_MS = 5

export const roundTrips: Scenario = {
  name: 'round-trips',
  title: 'Round trips, with added latency',
  about:
    'Through a proxy that holds everything back for 5 ms in each direction: the median time of one call, and how many round trips of 10 ms fit into it. Prepared is a direct connection, unprepared what a worker does behind a transaction pooler.',
  columns: [
    { figure: 'settleMs', title: 'settle_and_claim, ms', digits: 1 },
    { figure: 'settleTrips', title: 'round trips', digits: 2 },
    { figure: 'startMs', title: 'start_flows, ms', digits: 1 },
    { figure: 'startTrips', title: 'round trips', digits: 2 },
  ],
  run: (bench) =>
    interleave(
      bench,
      ['prepared', 'unprepared'].map((statements) => ({
        labels: { statements },
        measure: () => measureCalls(bench, statements === 'prepared'),
      })),
    ),
}

async function measureCalls({ cluster, scale }: Bench, prepare: boolean): Promise<Figures> {
  const database = await cluster.create('starflow')
  const link = await slowLink(cluster.server.port, DELAY_MS)
  const url = new URL(cluster.url(database))
  url.port = String(link.port)
  const sql = postgres(url.href, { max: 1, prepare, fetch_types: false, onnotice: () => {} })
  try {
    const core = new StarflowSql(sql)
    const flow = await compileChain(sql, 1)
    const { queueName, stepSlug } = flow.routes[0]!
    const workerId = randomUUID()
    await core.registerWorker({ workerId, queueName, functionName: 'bench' })
    const starts: number[] = []
    const settles: number[] = []
    let held: { runId: string; stepSlug: string; taskIndex: number; attempt: number }[] = []
    // The first of each has to be parsed and planned.
    for (let call = 0; call < scale.pick(50, 3) + 2; call++) {
      starts.push(await timed(() => core.startFlows(flow.flowSlug, chainInputs(call, 1))))
      settles.push(
        await timed(async () => {
          const reports = held.map((task) => ({ ...task, status: 'completed' as const, output: '{"ok":true}' }))
          const work = await core.settleAndClaim({
            workerId,
            reports,
            queueName,
            flowSlug: flow.flowSlug,
            stepSlug,
            qty: 1,
            onUnsupported: 'skip',
          })
          held = [...work.claimed]
        }),
      )
    }
    const settleMs = median(settles.slice(2))
    const startMs = median(starts.slice(2))
    return { settleMs, settleTrips: settleMs / (2 * DELAY_MS), startMs, startTrips: startMs / (2 * DELAY_MS) }
  } finally {
    await sql.end({ timeout: 1 })
    await link.close()
    await cluster.drop(database)
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
