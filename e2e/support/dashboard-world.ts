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
import type { TestDatabase } from '../../tests/support/test-database.ts'
import { type FlowWorld, Gate, imports, orders, reports } from './dashboard-flows.ts'

/** A server with its dashboard, a database, and workers in this process that do what the flows say. */
export interface DashboardWorld extends FlowWorld {
  readonly server: TestServer
  readonly database: TestDatabase
  readonly operatorToken: string
  /** Starts a worker of every step queue, by queue. They end with the file's tests. */
  startWorkers(): Promise<ReadonlyMap<string, RunningFunction>>
  /** Starts one more worker of a step queue, which ends with the file's tests too. */
  startWorker(queueName: string): Promise<RunningFunction>
}

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
  const server = await testServer(storage, {}, { flows: [reports, ...queued.map(({ flow }) => flow)] as AnyFlow[] })
  const workers: RunningFunction[] = []
  afterAll(() => Promise.all(workers.map((worker) => worker.stop())))
  const routes = queued.flatMap((definition) =>
    definition.routes.map(({ queueName, stepSlug }) => [queueName, { definition, stepSlug }] as const),
  )
  const startWorker = async (queueName: string) => {
    const { definition, stepSlug } = new Map(routes).get(queueName)!
    const options = { stepSlug, functionName: queueName, maxPgConnections: 2 }
    const worker = workerFunctionOn(database.url, definition, options)
    workers.push(worker)
    await worker.ask()
    return worker
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
    startWorkers: async () =>
      new Map(await Promise.all(routes.map(async ([queueName]) => [queueName, await startWorker(queueName)] as const))),
  }
}
