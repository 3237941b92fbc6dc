import { StarflowSql } from '@starflow/core'
import { Flow, type Json } from '@starflow/dsl'
import postgres from 'postgres'
import { expect, inject, test } from 'vitest'
import { workerFunctionOn } from '../../packages/edge-worker/tests/support/running-function.ts'
import { testDatabase } from '../../tests/support/test-database.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
/** As many as pgbouncer opens for one database: see ../support/pgbouncer.ts. */
const SERVER_CONNECTIONS = 4

/** What the sessions behind the pooler hold, each looked at once. */
async function sessionStates(): Promise<{ pid: number; prepared: number; listening: number; settings: string[] }[]> {
  const pooled = postgres(url.replace('?pgbouncer=true', ''), {
    max: SERVER_CONNECTIONS,
    prepare: false,
    fetch_types: false,
  })
  try {
    let here = 0
    let goOn = () => {}
    const allHere = new Promise<void>((resolve) => (goOn = resolve))
    return await Promise.all(
      Array.from({ length: SERVER_CONNECTIONS }, () =>
        pooled.begin(async (transaction) => {
          const [row] = await transaction<
            [{ pid: number; prepared: number; listening: number; settings: string[] }]
          >`select pg_backend_pid() as pid,
              (select count(*)::int from pg_prepared_statements) as prepared,
              (select count(*)::int from pg_listening_channels()) as listening,
              (select coalesce(jsonb_agg(name), '[]') from pg_settings
               where source = 'session' and name not in ('application_name', 'client_encoding')) as settings`
          // Each keeps its session until all have one, so that none is looked at twice.
          if (++here === SERVER_CONNECTIONS) goOn()
          await allHere
          return row
        }),
      ),
    )
  } finally {
    await pooled.end()
  }
}

test('workers leave no state in the sessions that a transaction pooler lends them', async () => {
  expect(inject('testServer').pooledUrl).toBeDefined()
  const flow = (slug: string) =>
    new Flow({ slug })
      .step({ slug: 'load' }, async (_input, ctx) => {
        const [row] = await ctx.sql<{ n: number }[]>`select ${1}::int as n`
        return row!.n
      })
      .step({ slug: 'write', dependsOn: ['load'], transactional: true }, async ({ load }, ctx) => {
        const [row] = await ctx.tx<{ n: number }[]>`select ${load}::int + 1 as n`
        return row!.n
      })
  const workers = ['pooledA', 'pooledB', 'pooledC'].map((slug) => workerFunctionOn(url, flow(slug)))
  try {
    await Promise.all(workers.map((worker) => worker.ask()))
    expect(await workers[0]!.event('worker.started')).toMatchObject({ preparedStatements: false })
    for (const slug of ['pooledA', 'pooledB', 'pooledC']) await core.startFlows(slug, Array<Json>(30).fill({}))
    for (;;) {
      const [row] = await sql`select count(*)::int as open from pgflow.runs where status <> 'completed'`
      if (row!.open === 0) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const states = await sessionStates()
    expect(new Set(states.map(({ pid }) => pid)).size).toBe(SERVER_CONNECTIONS)
    for (const { prepared, listening, settings } of states) {
      expect({ prepared, listening, settings }).toEqual({ prepared: 0, listening: 0, settings: [] })
    }
    const locks = await sql`select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`
    expect(locks).toHaveLength(0)
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
  }
})
