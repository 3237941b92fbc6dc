import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { type AnyFlow, extractFlowShape, type StepQueuedFlow } from '@starflow/dsl'
import { afterAll } from 'vitest'
import { StarflowSql } from '../../packages/core/src/index.ts'
import { dashboardFiles } from '../../packages/dashboard/src/files/index.ts'
import { type RunningFunction, workerFunctionOn } from '../../packages/edge-worker/tests/support/running-function.ts'
import {
  OPERATOR_TOKEN,
  type TestServer,
  testServer,
  testStorage,
} from '../../packages/server/tests/support/test-servers.ts'
import { ROOT } from '../../scripts/repository.ts'
import { COMPILED } from '../../tests/support/compiled.ts'
import type { TestDatabase } from '../../tests/support/test-database.ts'
import { exports, type FlowWorld, Gate, imports, orders, reports } from './dashboard-flows.ts'

/** A server with its dashboard, a database, and workers in this process that do what the flows say. */
export interface DashboardWorld extends FlowWorld {
  readonly server: TestServer
  readonly database: TestDatabase
  readonly operatorToken: string
  /** Starts a worker of every step queue but these. They end with the file's tests. */
  startWorkers(options?: { readonly but?: readonly string[] }): Promise<void>
  /** Starts one more worker of a step queue, which ends with the file's tests too. */
  startWorker(queueName: string): Promise<void>
  /** Starts a worker of a step queue of an order as a process of its own, for a test that kills it. It ends with the file's tests. */
  startWorkerProcess(queueName: string): ChildProcess
}

const WORKER_PROGRAM = join(ROOT, 'e2e/support/dashboard-worker.ts')

/** Call it at the top of the file; all of it ends with the file's tests. */
export async function dashboardWorld(): Promise<DashboardWorld> {
  // The first one who asks waits until the page is built; here no test does.
  await dashboardFiles()
  const storage = await testStorage('supabase')
  const database = storage.database!
  await database.sql`
    select vault.create_secret(encode(extensions.gen_random_bytes(32), 'hex'), 'starflow_wait_token_secret')`
  const world: FlowWorld = { payment: new Gate(), isBankThere: true }
  const queued = [orders(world), imports] as unknown as readonly StepQueuedFlow<AnyFlow>[]
  const core = new StarflowSql(database.sql)
  for (const { flow, routes } of queued) {
    await core.ensureFlowCompiled({
      ...{ flowSlug: flow.slug, shape: extractFlowShape(flow), queueMode: 'step', routeMap: routes },
    })
  }
  const flows = [reports, exports(world), ...queued.map(({ flow }) => flow)] as AnyFlow[]
  const server = await testServer(storage, { STARFLOW_MIRROR: 'on' }, { flows })
  const workers: RunningFunction[] = []
  const processes: ChildProcess[] = []
  afterAll(async () => {
    for (const child of processes) child.kill('SIGKILL')
    await Promise.all(workers.map((worker) => worker.stop()))
  })
  const routes = queued.flatMap((definition) =>
    definition.routes.map(({ queueName, stepSlug }) => [queueName, { definition, stepSlug }] as const),
  )
  const startWorker = async (queueName: string) => {
    const { definition, stepSlug } = new Map(routes).get(queueName)!
    const options = { stepSlug, functionName: queueName, maxPgConnections: 2 }
    const worker = workerFunctionOn(database.url, definition, options)
    workers.push(worker)
    await worker.ask()
  }
  const startWorkerProcess = (queueName: string) => {
    const child = spawn(process.execPath, [...COMPILED, WORKER_PROGRAM, queueName], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { ...process.env, STARFLOW_DB_URL: database.url, STARFLOW_FUNCTION_NAME: queueName },
    })
    processes.push(child)
    return child
  }
  return {
    ...{ server, database, operatorToken: OPERATOR_TOKEN },
    payment: world.payment,
    get isBankThere() {
      return world.isBankThere
    },
    set isBankThere(isThere) {
      world.isBankThere = isThere
    },
    startWorker,
    startWorkers: async ({ but = [] } = {}) => {
      await Promise.all(routes.flatMap(([queueName]) => (but.includes(queueName) ? [] : startWorker(queueName))))
    },
    startWorkerProcess,
  }
}
