import { StarflowSql } from '@starflow/core'
import { difference, PostgresMeter } from '../measure/postgres-meter.ts'
import type { Figures } from '../report/row.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { compileMap } from '../starflow/chain-flow.ts'
import { SqlWorker } from '../starflow/sql-worker.ts'

const CLIENTS = 4
const ELEMENT_BODY = 'y'.repeat(100)
const POLL_MS = 2

export const map: Scenario = {
  name: 'map',
  title: 'Map',
  about:
    'One run of a map over its input (elements of about 120 bytes) and a step that gathers it, 4 clients; small maps several times, one after the other. The peers have nothing like it.',
  columns: [
    { figure: 'tasksPerSecond', title: 'tasks/s' },
    { figure: 'msPerRun', title: 'ms/run', digits: 1 },
    { figure: 'walPerTask', title: 'WAL B/task' },
    { figure: 'postgresUsPerTask', title: 'Postgres µs/task' },
  ],
  run: (bench) =>
    interleave(
      bench,
      bench.scale
        .pick(
          [
            { elements: 1000, batch: 10 },
            { elements: 10_000, batch: 10 },
            { elements: 1000, batch: 50 },
            { elements: 10_000, batch: 50 },
          ],
          [{ elements: 100, batch: 50 }],
        )
        .map(({ elements, batch }) => ({
          labels: { elements, batch, system: 'starflow' },
          measure: () => runMaps(bench, elements, batch),
        })),
    ),
}

async function runMaps({ cluster, scale }: Bench, elements: number, batch: number): Promise<Figures> {
  const database = await cluster.create('starflow')
  const sql = cluster.connect(database)
  const connections = Array.from({ length: CLIENTS }, () => cluster.connect(database))
  const meter = new PostgresMeter(cluster.server.pid, sql)
  let workers: readonly SqlWorker[] = []
  try {
    const core = new StarflowSql(sql)
    const flow = await compileMap(sql)
    workers = connections.map(
      (connection, index) =>
        new SqlWorker({
          sql: connection,
          flow,
          batch,
          // All but one stay with the map; the last one looks after the step that gathers it as well.
          firstRoute: 0,
          isSticky: index < CLIENTS - 1,
          handle: (task) => (task.stepSlug === 'fan' ? JSON.stringify({ value: task.taskIndex }) : '{"ok":true}'),
          onSettled: () => {},
        }),
    )
    for (const [index, worker] of workers.entries()) await worker.register(`bench-${index}`)
    const input = (size: number) => Array.from({ length: size }, (_, value) => ({ value, body: ELEMENT_BODY }))
    for (const worker of workers) worker.start()
    await completed([(await core.startFlows(flow.flowSlug, [input(Math.min(elements, 500))]))[0]!])
    await Promise.all(workers.map((worker) => worker.stop()))

    const repetitions = scale.pick(Math.max(1, Math.round(10_000 / elements)), 1)
    let seconds = 0
    let walBytes = 0
    let cpuMs = 0
    for (let repetition = 0; repetition < repetitions; repetition++) {
      const [runId] = await core.startFlows(flow.flowSlug, [input(elements)])
      await sql`analyze pgflow.runs, pgflow.step_states, pgflow.step_tasks`
      const before = await meter.read()
      const startedAt = performance.now()
      for (const worker of workers) worker.start()
      await completed([runId!])
      seconds += (performance.now() - startedAt) / 1000
      await Promise.all(workers.map((worker) => worker.stop()))
      const used = difference(before, await meter.read())
      walBytes += used.walBytes
      cpuMs += used.cpuMs
    }
    const tasks = repetitions * (elements + 1)
    return {
      tasksPerSecond: tasks / seconds,
      msPerRun: (seconds * 1000) / repetitions,
      walPerTask: walBytes / tasks,
      postgresUsPerTask: (cpuMs * 1000) / tasks,
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
    await Promise.all(connections.map((connection) => connection.end()))
    await sql.end()
    await cluster.drop(database)
  }

  async function completed(runIds: string[]): Promise<void> {
    for (;;) {
      const [row] = await sql<[{ left: string }]>`
        select count(*) as left from pgflow.runs where run_id = any (${runIds}::uuid[]) and status <> 'completed'`
      if (Number(row.left) === 0) return
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }
}
