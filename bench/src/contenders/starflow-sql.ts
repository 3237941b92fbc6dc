import { StarflowSql } from '@starflow/core'
import type { Sql } from 'postgres'
import type { BenchCluster } from '../cluster.ts'
import type { Contender, Session, Workload } from '../contender.ts'
import type { Progress } from '../measure/progress.ts'
import { chainInputs, compileChain } from '../starflow/chain-flow.ts'
import { SqlWorker } from '../starflow/sql-worker.ts'

const OUTPUT = JSON.stringify({ ok: true, at: 'bench' })
const RUNS_PER_CALL = 1000

export interface StarflowSqlOptions {
  readonly name?: string
  readonly settings?: string
  readonly prepare?: boolean
  /** Settings of the SQL core, set before anything starts. */
  readonly coreSettings?: Readonly<Record<string, string>>
  /** Called after each call of `start` with the run ids; not measured as part of the work. */
  readonly onStarted?: (sql: Sql, runIds: readonly string[]) => Promise<void>
}

/** The SQL core with the smallest possible client. */
export function starflowSql(options: StarflowSqlOptions = {}): Contender {
  return {
    name: options.name ?? 'starflow',
    version: 'this one',
    settings: options.settings ?? 'defaults; settle and claim in one call, prepared, one connection per client',
    pace: ({ steps, batch }) => Math.round((batch === 1 ? 1500 : batch <= 10 ? 8000 : 16_000) / steps),
    startPace: 20_000,
    open: (cluster, workload, progress) => openSession(cluster, workload, progress, options),
  }
}

async function openSession(
  cluster: BenchCluster,
  workload: Workload,
  progress: Progress,
  options: StarflowSqlOptions,
): Promise<Session> {
  const database = await cluster.create('starflow')
  const prepare = options.prepare ?? true
  const starter = cluster.connect(database, { prepare })
  const core = new StarflowSql(starter)
  for (const [key, value] of Object.entries(options.coreSettings ?? {})) await core.setSetting(key, value)
  const flow = await compileChain(starter, workload.steps)
  const lastStep = `s${workload.steps - 1}`
  let connections: Sql[] = []
  let workers: SqlWorker[] = []
  let started = 0
  return {
    database,
    async start(runs) {
      for (let left = runs; left > 0; left -= RUNS_PER_CALL) {
        const count = Math.min(RUNS_PER_CALL, left)
        const runIds = await core.startFlows(flow.flowSlug, chainInputs(started, count))
        started += count
        await options.onStarted?.(starter, runIds)
      }
    },
    async startWorkers() {
      connections = Array.from({ length: workload.clients }, () => cluster.connect(database, { prepare }))
      workers = connections.map(
        (sql, index) =>
          new SqlWorker({
            sql,
            flow,
            batch: workload.batch,
            firstRoute: index,
            handle: () => OUTPUT,
            onSettled: (tasks) => progress.add(tasks.length, tasks.filter((task) => task.stepSlug === lastStep).length),
          }),
      )
      await Promise.all(workers.map((worker, index) => worker.register(`bench-${index}`)))
      for (const worker of workers) worker.start()
    },
    async stopWorkers() {
      await Promise.all(workers.map((worker) => worker.stop()))
      await Promise.all(connections.map((sql) => sql.end()))
    },
    async problems() {
      const [row] = await starter<[{ runs: string; states: string; tasks: string; expected: string }]>`
        select (select count(*) from pgflow.runs where status <> 'completed' or output is null) as runs,
               (select count(*) from pgflow.step_states where status <> 'completed') as states,
               (select count(*) from pgflow.step_tasks where status <> 'completed' or attempts_count <> 1) as tasks,
               (select count(*) from pgflow.step_tasks) as expected`
      const found = [
        ...(Number(row.runs) > 0 ? [`${row.runs} runs not completed`] : []),
        ...(Number(row.states) > 0 ? [`${row.states} steps not completed`] : []),
        ...(Number(row.tasks) > 0 ? [`${row.tasks} tasks not completed once`] : []),
        ...(Number(row.expected) === started * workload.steps ? [] : [`${row.expected} tasks for ${started} runs`]),
      ]
      return found.join(', ')
    },
    async close() {
      await starter.end()
      await cluster.drop(database)
    },
  }
}
