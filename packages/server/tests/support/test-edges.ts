import { Engine } from '@starflow/engine'
import postgres from 'postgres'
import { afterAll } from 'vitest'
import { openStorage } from '../../src/adapters/open-storage.ts'
import { PostgresTriggerStore } from '../../src/adapters/postgres-trigger-store.ts'
import { directFunctions } from '../../src/adapters/sql-functions.ts'
import { SqliteTriggerStore } from '../../src/adapters/sqlite-trigger-store.ts'
import { readConfig } from '../../src/config.ts'
import type { ServerLog } from '../../src/log.ts'
import { FlowCatalog } from '../../src/runs/flow-catalog.ts'
import { RunDirectory } from '../../src/runs/run-directory.ts'
import { RunnerPlacement } from '../../src/runs/runner-placement.ts'
import { serveFlows } from '../../src/runs/served-flows.ts'
import type { TriggerStore } from '../../src/store/trigger-store.ts'
import { FiringStarter } from '../../src/triggers/firing-starter.ts'
import { readDeclarations } from '../../src/triggers/read-declarations.ts'
import { Scheduler } from '../../src/triggers/scheduler.ts'
import { flows } from './flows.ts'
import { OPERATOR_TOKEN, type TestStorage } from './test-servers.ts'

/** An edge that looks when it is told to, by a clock of the database that the test sets. */
export interface TestEdge {
  readonly store: TriggerStore
  readonly runs: RunDirectory
  readonly starter: FiringStarter
  /** A scheduler of what the YAML declares. */
  scheduler(yaml: string, changed?: { readonly starter?: FiringStarter }): Scheduler
  /** What the database takes for now, where this edge asks. */
  setClock(instant: string): Promise<void>
}

const SILENT: ServerLog = { debug() {}, info() {}, warn() {}, error() {} }
export const WORKSPACE = 'shop'

/** An edge with connections of its own. */
export async function testEdge(storage: TestStorage): Promise<TestEdge> {
  const opened = await openStorage(readConfig({ ...storage.env, STARFLOW_API_TOKEN: OPERATOR_TOKEN }).storage, 'edge')
  afterAll(() => opened.close())
  const { adapter } = opened
  const catalog = new FlowCatalog(flows)
  const served = await serveFlows(flows, new Engine({ adapter, runnerId: 'edge' }))
  const placement = new RunnerPlacement({ adapter, flows: catalog, served, waitTokenKeys: [], now: Date.now })
  const runs = new RunDirectory([placement], catalog)
  const { store, setClock } = await clockedStore(storage)
  const starter = new FiringStarter({ store, runs, log: SILENT })
  return {
    ...{ store, runs, starter, setClock },
    scheduler: (yaml, changed) => {
      const { declarations, problems } = readDeclarations(yaml)
      if (declarations === undefined) throw new Error(JSON.stringify(problems))
      const { triggers } = declarations
      return new Scheduler({ triggers, workspaceId: WORKSPACE, store, runs, starter, log: SILENT, ...changed })
    },
  }
}

async function clockedStore(storage: TestStorage): Promise<Pick<TestEdge, 'store' | 'setClock'>> {
  if (storage.database === undefined) {
    let now = Date.now()
    const store = new SqliteTriggerStore(storage.env.STARFLOW_SQLITE_PATH!, () => now)
    afterAll(() => store.close())
    const setClock = async (instant: string) => {
      now = Date.parse(instant)
    }
    return { store, setClock }
  }
  const sql = postgres(storage.database.url, { max: 1, onnotice: () => {} })
  afterAll(() => sql.end())
  return {
    store: new PostgresTriggerStore(directFunctions(sql)),
    setClock: async (instant) => void (await sql`select set_config('pgflow.test_now', ${instant}, false)`),
  }
}
