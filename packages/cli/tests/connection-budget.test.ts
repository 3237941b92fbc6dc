import { StarflowSql } from '@starflow/core'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { readConnectionBudget, readConnectionSettings, sameForAll } from '../src/operations/connection-budget.ts'
import { loadProject } from '../src/project/project.ts'
import { SampleProject } from './support/sample-project.ts'

const { sql } = await testDatabase()
const core = new StarflowSql(sql)
const FLOWS = `
import { defineWorkers, Flow, withStepQueues } from '@starflow/dsl'
export const orders = withStepQueues(new Flow<{ n: number }>({ slug: 'orders' })
  .step({ slug: 'price' }, ({ n }) => n)
  .step({ slug: 'send' }, ({ n }) => n)
  .step({ slug: 'log' }, ({ n }) => n))
export const workers = defineWorkers(orders, { price: { maxPgConnections: 2, instances: 2 }, send: { maxPgConnections: 9 } })
export const plain = new Flow<{ n: number }>({ slug: 'Plain' }).step({ slug: 'only' }, ({ n }) => n)
`

const project = new SampleProject({ 'supabase/functions/_flows/orders.ts': FLOWS })
const empty = new SampleProject({ 'supabase/functions/_flows/notes.md': 'None yet.' })
afterAll(() => {
  project.dispose()
  empty.dispose()
})

beforeEach(async () => {
  await sql`delete from pgflow.worker_functions`
  for (const name of ['orders__price', 'orders__price-2', 'orders__send', 'orders__log', 'plain']) {
    await core.trackWorkerFunction(name)
  }
})

const budget = async (folder: SampleProject) => {
  const settings = await readConnectionSettings(await loadProject(folder.root))
  return { source: settings.source, ...(await readConnectionBudget(sql, settings)) }
}

test('connections are counted as the workers of the project are set, instances and defaults included', async () => {
  expect(await budget(project)).toMatchObject({
    ...{ functions: 5, workers: 5, connections: 2 + 2 + 9 + 4 + 4, assumed: [] },
    source: "As the settings of this project's workers say",
  })
})

test('queues of other projects are assumed to have the default, and named', async () => {
  await core.trackWorkerFunction('mail__send')
  expect(await budget(project)).toMatchObject({ connections: 21 + 4, assumed: ['mail__send'] })
})

test('a function that is fenced counts no more', async () => {
  await sql`update pgflow.worker_functions set enabled = false where function_name = 'orders__send'`
  expect(await budget(project)).toMatchObject({ functions: 4, connections: 21 - 9 })
})

test('without a project, and where it cannot be evaluated, the default is assumed and said to be', async () => {
  const assumed = '4 connections a worker are assumed, the default'
  expect(await budget(empty)).toMatchObject({
    ...{ connections: 5 * 4, assumed: [] },
    source: `There are no flows in this folder: ${assumed}`,
  })
  empty.write('supabase/functions/_flows/broken.ts', 'export const broken = = 1')
  const { source, connections } = await budget(empty)
  expect(connections).toBe(5 * 4)
  expect(source).toMatch(/^The flow modules could not be evaluated \(.*broken\.ts.*\): /s)
  expect(source).toContain(assumed)
})

test('a number that is given counts for every worker', async () => {
  expect(await readConnectionBudget(sql, sameForAll(7))).toMatchObject({ connections: 5 * 7, assumed: [] })
})
