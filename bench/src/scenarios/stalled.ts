import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import type { Sql } from 'postgres'
import type { Figures } from '../report/row.ts'
import { interleave } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'
import { chainInputs, compileChain } from '../starflow/chain-flow.ts'

const RUNS_PER_CALL = 1000
const STALLED = 5
const PAST_BOUNDARY = '10 minutes'

export const stalled: Scenario = {
  name: 'stalled',
  title: 'Finding stalled tasks',
  about:
    'Active runs of the chain, one in a hundred of them with a task at work, 5 stalled: the time of one requeue_stalled_tasks. `nothing` is a pass that finds none.',
  columns: [
    { figure: 'foundMs', title: 'ms, 5 stalled', digits: 1 },
    { figure: 'nothingMs', title: 'ms, nothing', digits: 1 },
  ],
  run: async (bench) => {
    const runs = bench.scale.pick(100_000, 1000)
    const database = await bench.cluster.create('starflow')
    const sql = bench.cluster.connect(database)
    try {
      const core = new StarflowSql(sql)
      const flow = await compileChain(sql, 3)
      const workerId = randomUUID()
      const { queueName, stepSlug } = flow.routes[0]!
      await core.registerWorker({ workerId, queueName, functionName: 'bench' })
      const claim = (qty: number) =>
        core.settleAndClaim({
          workerId,
          reports: [],
          queueName,
          flowSlug: flow.flowSlug,
          stepSlug,
          qty,
          onUnsupported: 'skip',
        })
      bench.note(`${runs} active runs are made`)
      for (let made = 0; made < runs; made += RUNS_PER_CALL) {
        await core.startFlows(flow.flowSlug, chainInputs(made, Math.min(RUNS_PER_CALL, runs - made)))
      }
      await claim(runs / 100)
      await sql`analyze pgflow.runs, pgflow.step_states, pgflow.step_tasks`
      return await interleave(bench, [
        {
          labels: { 'active runs': runs, system: 'starflow' },
          measure: async (): Promise<Figures> => {
            await core.requeueStalledTasks()
            const nothingMs = await timed(core, 0)
            const { claimed } = await claim(STALLED)
            await stall(
              sql,
              queueName,
              claimed.map(({ messageId }) => messageId),
            )
            const foundMs = await timed(core, STALLED)
            // What was put back is first in the queue: done now, so that no task comes to its last attempt.
            const { claimed: back } = await claim(STALLED)
            await core.settleTasks(
              workerId,
              back.map((task) => ({ ...task, status: 'completed', output: '{"ok":true}' })),
            )
            return { foundMs, nothingMs }
          },
        },
      ])
    } finally {
      await sql.end()
      await bench.cluster.drop(database)
    }
  },
}

async function timed(core: StarflowSql, expected: number): Promise<number> {
  const startedAt = performance.now()
  const found = await core.requeueStalledTasks()
  const milliseconds = performance.now() - startedAt
  if (found !== expected) throw new Error(`${found} stalled tasks were found, not ${expected}.`)
  return milliseconds
}

/** As if the workers of these tasks had died long ago. */
async function stall(sql: Sql, queueName: string, messageIds: readonly string[]): Promise<void> {
  const ids = [...messageIds]
  await sql`update pgflow.step_tasks
    set started_at = started_at - ${PAST_BOUNDARY}::text::interval, queued_at = queued_at - ${PAST_BOUNDARY}::text::interval
    where queue_name = ${queueName} and message_id = any (${ids}::bigint[])`
  await sql`update ${sql(`pgmq.q_${queueName}`)} set vt = vt - ${PAST_BOUNDARY}::text::interval
    where msg_id = any (${ids}::bigint[])`
}
