import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readSchemaFiles } from '../../../scripts/schema-files.ts'
import { loadSchema } from '../../../tests/support/load-schema.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { migrations } from '../src/migrations.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { expectAllWell } from './support/oracle.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const PGMQ = fileURLToPath(new URL('../../local/extensions/pgmq/pgmq--1.5.1.sql', import.meta.url))

test('migrations on a pgmq below 1.5.0 are refused with its version, and leave nothing', async () => {
  const database = await testDatabase({ template: 'platform' })
  const superuser = database.as('supabase_admin')
  await database.sql`create extension pgmq`
  await superuser`update pg_extension set extversion = '1.4.4' where extname = 'pgmq'`
  await superuser`alter type pgmq.message_record drop attribute headers cascade`
  const apply = database.sql.begin(async (tx) => {
    for (const { sql } of migrations) await tx.unsafe(sql).simple()
  })
  expect(await refusal(apply)).toEqual({
    code: 'SF003',
    message: 'Starflow needs pgmq 1.5.0 or later.',
    detail: 'This database has pgmq 1.4.4, whose messages have no headers.',
    hint: expect.stringContaining('alter extension pgmq update'),
  })
  expect(await database.sql`select from pg_namespace where nspname = 'pgflow'`).toHaveLength(0)
})

test('a newer pgmq, whose messages have one column more, serves flows of both queue modes', async () => {
  const database = await testDatabase({ template: 'platform' })
  const { sql } = database
  await sql`create schema pgmq`
  await sql.unsafe(newerPgmq()).simple()
  await loadSchema(sql, readSchemaFiles())

  for (const mode of ['flow', 'step'] as const) {
    const steps = shape({ list: { maxAttempts: 3, baseDelay: 0 }, each: { map: true, after: ['list'] } })
    const flow = await CompiledFlow.compileShape(sql, `newer${mode}`, steps, mode)
    const [runId] = await flow.start({})
    const [released] = await flow.claim('list')
    await flow.core.releaseTasks(flow.workerId, [{ ...released!, started: false }])
    const [retried] = await flow.claim('list')
    await flow.core.settleTasks(flow.workerId, [failed(retried!)])
    const [task] = await flow.claim('list')
    await flow.core.settleTasks(flow.workerId, [completed(task!, [1, 2])])
    await sql.unsafe(`delete from pgmq.q_${flow.queue('each')}`)
    expect(await sql`select pgflow.repair_liveness() as sent`).toEqual([{ sent: 2 }])
    await flow.drain(({ input }) => input)
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { each: [1, 2] } })
    expect((await sql.unsafe(`select * from pgmq.read('${flow.queue('each')}', 0, 1)`)).columns.at(-1)?.name).toBe(
      'last_read_at',
    )
    expect(await sql`select depth from pgflow.queue_coverage where flow_slug = ${flow.slug} limit 1`).toEqual([
      { depth: 0 },
    ])
  }
  await expectAllWell(sql)
})

/** The queue's SQL as plain SQL instead of an extension, with a column behind the headers as a later release might add it. */
function newerPgmq(): string {
  return readFileSync(PGMQ, 'utf8')
    .split("-- A trusted extension's objects")[0]!
    .replace(/^\\echo.*$/m, '')
    .replace(/^select pg_catalog\.pg_extension_config_dump.*$/gm, '')
    .replaceAll('headers jsonb\n', 'headers jsonb,\n  last_read_at timestamptz\n')
    .replaceAll('message, m.headers', 'message, m.headers, m.last_read_at')
    .replaceAll('enqueued_at, vt, message, headers', 'enqueued_at, vt, message, headers, last_read_at')
}
