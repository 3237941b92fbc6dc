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
  /** Starts the workers of every step queue. They end with the file's tests. */
  startWorkers(): Promise<readonly RunningFunction[]>
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
  return {
    ...{ server, database, operatorToken: OPERATOR_TOKEN },
    payment: world.payment,
    get isBankThere() {
      return world.isBankThere
    },
    set isBankThere(isThere) {
      world.isBankThere = isThere
    },
    async startWorkers() {
      const workers = queued.flatMap((definition) =>
        definition.routes.map(({ queueName, stepSlug }) =>
          workerFunctionOn(database.url, definition, { stepSlug, functionName: queueName, maxPgConnections: 2 }),
        ),
      )
      afterAll(() => Promise.all(workers.map((worker) => worker.stop())))
      await Promise.all(workers.map((worker) => worker.ask()))
      return workers
    },
  }
}
