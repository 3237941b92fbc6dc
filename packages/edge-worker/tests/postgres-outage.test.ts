import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StarflowSql } from '@starflow/core'
import { migrations } from '@starflow/core/migrations'
import { Flow, type Json } from '@starflow/dsl'
import { type PostgresServer, preparePlatform, startPostgres } from '@starflow/local'
import postgres from 'postgres'
import { afterAll, expect, inject, test } from 'vitest'
import { workerFunctionOn } from './support/running-function.ts'

/** How long Postgres is away: longer than the worker's longest back-off of 5 s. `OUTAGE_MS=20000` passes too. */
const OUTAGE_MS = Number(process.env.OUTAGE_MS ?? 6000)

const folder = mkdtempSync(join(tmpdir(), 'starflow-outage-'))
let server: PostgresServer | undefined
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function startServer(port?: number): Promise<PostgresServer> {
  server = await startPostgres({
    dataDir: join(folder, 'data'),
    major: inject('testServer').major,
    ...(port === undefined ? {} : { port }),
  })
  return server
}

test('Postgres stopped in the middle of work loses nothing', async () => {
  const first = await startServer()
  await preparePlatform(first)
  const url = first.url()
  const sql = postgres(url, { max: 2, onnotice: () => {}, fetch_types: false })
  for (const { sql: text } of migrations) await sql.unsafe(text).simple()
  const core = new StarflowSql(sql)

  const handled: string[] = []
  const flow = new Flow({ slug: 'outage' })
    .step({ slug: 'first' }, async (_input, ctx) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      handled.push(`${ctx.stepTask.run_id}/first`)
      return 1
    })
    .step({ slug: 'second', dependsOn: ['first'] }, ({ first }, ctx) => {
      handled.push(`${ctx.stepTask.run_id}/second`)
      return first + 1
    })
  const worker = workerFunctionOn(url, flow)
  await worker.ask()
  const runIds = await core.startFlows('outage', Array<Json>(400).fill({}))
  const completed = async () =>
    (await sql<{ count: number }[]>`select count(*)::int as count from pgflow.runs where status = 'completed'`)[0]!
      .count
  while ((await completed()) < 20) await new Promise((resolve) => setTimeout(resolve, 5))

  await first.stop()
  const handledAtStop = handled.length
  await worker.event('database.failing')
  await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS))
  await startServer(first.port)
  await worker.event('database.recovered')

  // What the last claim gave and nobody heard of is left to recovery: as if its boundary had passed.
  await sql`update pgflow.step_tasks set queued_at = queued_at - interval '2 hours', started_at = started_at - interval '1 hour'
    where status = 'started' and started_at < now() - ${`${OUTAGE_MS} milliseconds`}::interval`
  await sql`select pgflow.requeue_stalled_tasks()`
  while ((await completed()) < runIds.length) await new Promise((resolve) => setTimeout(resolve, 20))

  expect(handled.length).toBeGreaterThan(handledAtStop)
  expect(new Set(handled).size).toBe(800)
  const [figures] = await sql<{ tasks: number; attempts: number; outputs: number }[]>`
    select count(*)::int as tasks, sum(attempts_count)::int as attempts, (select count(distinct output) from pgflow.runs)::int as outputs
    from pgflow.step_tasks`
  expect(figures).toMatchObject({ tasks: 800, outputs: 1 })
  // A claim takes ten tasks at most, and only one claim can have been lost.
  expect(figures!.attempts - figures!.tasks).toBeLessThanOrEqual(10)
  expect(await sql`select * from pgflow.liveness_audit`).toEqual([])
  await worker.stop()
  await sql.end()
})
