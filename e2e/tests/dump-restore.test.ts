import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from '@starflow/core/migrations'
import { Flow, withStepQueues } from '@starflow/dsl'
import { preparePlatform, startPostgres } from '@starflow/local'
import postgres, { type Sql } from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { CompiledFlow, completed, failed } from '../../packages/core/tests/support/compiled-flow.ts'
import { expectAllWell } from '../../packages/core/tests/support/oracle.ts'
import { debianProgram } from '../support/debian-package.ts'

// pg_dump must not be older than the server, and Debian 12 has that of Postgres 15.
const PG_DUMP = debianProgram('postgresql-client-15', ['/usr/lib/postgresql/15/bin/pg_dump', 'pg_dump'])
const PG_RESTORE = PG_DUMP.replace(/pg_dump$/, 'pg_restore')

const folder = mkdtempSync(join(tmpdir(), 'starflow-e2e-'))
const server = await startPostgres({ dataDir: join(folder, 'postgres'), major: 15, fsync: false })
const admin = postgres(server.url({ role: 'supabase_admin', database: 'template1' }), { max: 1, onnotice: () => {} })
const clients: Sql[] = [admin]
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()))
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const orders = withStepQueues(
  new Flow<{ id: string }>({ slug: 'orders', maxAttempts: 2, baseDelay: 0, timeout: 10 })
    .array({ slug: 'list' }, () => [1, 2, 3])
    .map({ slug: 'each', array: 'list' }, (n) => n * 10)
    .step({ slug: 'sum', dependsOn: ['each'] }, ({ each }) => each.length),
)
const mails = new Flow<{ id: string }>({ slug: 'mails' })
  .step({ slug: 'write' }, () => 'text')
  .step({ slug: 'send', dependsOn: ['write'] }, () => 'sent')

const database = (name: string): Sql => {
  const sql = postgres(server.url({ database: name }), { max: 4, onnotice: () => {} })
  clients.push(sql)
  return sql
}

/** A database with runs in every state that an open run may be in, beside some that have ended. */
async function populate(): Promise<string[]> {
  await preparePlatform(server)
  const sql = database('postgres')
  await sql.begin(async (tx) => {
    for (const migration of migrations) await tx.unsafe(migration.sql).simple()
  })
  const flows = { orders: await CompiledFlow.compile(sql, orders), mails: await CompiledFlow.compile(sql, mails) }
  const inputs = ['queued', 'claimed', 'retried', 'half', 'done', 'failed', 'cancelled']
  const runs: Record<string, string> = {}
  for (const flow of Object.values(flows)) {
    const runIds = await flow.start(...inputs)
    for (const [index, name] of inputs.entries()) runs[`${flow.slug} ${name}`] = runIds[index]!
  }
  const run = (name: string) => runs[`orders ${name}`]!
  const claimed = await flows.orders.claim('list')
  const of = (name: string) => claimed.find((task) => task.runId === run(name))!
  const settle = async (...reports: Parameters<CompiledFlow['core']['settleTasks']>[1]) =>
    await flows.orders.core.settleTasks(flows.orders.workerId, reports)
  await flows.orders.core.releaseTasks(flows.orders.workerId, [{ ...of('queued'), started: false }])
  await settle(
    failed(of('retried')),
    failed(of('failed'), { permanent: true }),
    completed(of('half'), [1, 2, 3]),
    completed(of('done'), []),
  )
  const [element] = await flows.orders.claim('each', 1)
  await settle(completed(element!, 10))
  const [sum] = await flows.orders.claim('sum', 1)
  await settle(completed(sum!, 0))
  await sql`select pgflow.cancel_run(${run('cancelled')})`
  await sql`select pgflow.start_flow('mails', '"later"', start_at => now() + interval '1 hour')`
  await expectAllWell(sql)
  const open = await sql<{ run_id: string }[]>`select run_id from pgflow.runs where status = 'started'`
  return open.map((row) => row.run_id)
}

const open = await populate()
const counts = async (sql: Sql) =>
  await sql`
  select (select jsonb_object_agg(x.status, x.n) from (select status, count(*) n from pgflow.runs group by 1) x) as runs,
         (select jsonb_object_agg(x.status, x.n) from (select status, count(*) n from pgflow.step_tasks group by 1) x) as tasks`

/** Dumps everything and restores it as a database of its own. */
async function restored(name: string): Promise<Sql> {
  const file = join(folder, `${name}.dump`)
  const run = (program: string, ...args: string[]) => {
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
    expect(status, stderr).toBe(0)
  }
  run(PG_DUMP, '-Fc', '-f', file, server.url({ role: 'supabase_admin' }))
  await admin`create database ${admin(name)} template template0`
  run(PG_RESTORE, '--exit-on-error', '-d', server.url({ role: 'supabase_admin', database: name }), file)
  // A project's own role restores and owns what it restores; here the superuser does, since a plain server has no such project.
  const superuser = postgres(server.url({ role: 'supabase_admin', database: name }), { max: 1, onnotice: () => {} })
  await superuser`update pg_extension set extowner = 'postgres'::regrole where extname = 'pgmq'`
  await superuser.end()
  return database(name)
}

/** An hour later: what the old workers held is past its recovery boundary. */
async function later(sql: Sql): Promise<CompiledFlow[]> {
  const flows = [await CompiledFlow.compile(sql, orders), await CompiledFlow.compile(sql, mails)]
  for (const runId of open) await flows[0]!.age(runId, 3600)
  return flows
}

async function finish(sql: Sql, flows: readonly CompiledFlow[]): Promise<void> {
  await sql`select pgflow.requeue_stalled_tasks()`
  for (const flow of flows) await flow.drain(({ stepSlug }) => (stepSlug === 'list' ? [1, 2, 3] : 1))
  expect(await sql`select distinct status from pgflow.runs where run_id in ${sql(open)}`).toEqual([
    { status: 'completed' },
  ])
  await expectAllWell(sql)
}

test('a database that was dumped with open runs and restored has no queues: they are created from what is persisted, lost messages are sent once, and its runs go on', async () => {
  const sql = await restored('whole')
  expect(await counts(sql)).toEqual(await counts(database('postgres')))
  const compiled = CompiledFlow.compile(sql, orders)
  await expect(compiled).rejects.toMatchObject({
    code: 'SF111',
    hint: expect.stringContaining('restore_queues()'),
  })

  const create = async () => (await sql`select pgflow.restore_queues() as queue order by 1`).map((row) => row.queue)
  expect(await create()).toEqual(['mails', 'orders__each', 'orders__list', 'orders__sum'])
  expect(await create()).toEqual([])
  const flows = await later(sql)
  const lost = await sql`select * from pgflow.liveness_audit`
  expect(lost.length).toBeGreaterThan(10)
  expect(await sql`select pgflow.repair_liveness() as sent`).toEqual([{ sent: lost.length }])
  expect(await sql`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 0 }])
  expect(await sql`select * from pgflow.liveness_audit`).toEqual([])
  await finish(sql, flows)
})
