import { beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'

const database = await testDatabase()
// One connection: what it planned on empty tables is kept.
const sql = database.connect()
const LOOK_AT = 1000

/** 60 000 runs, one per second: one in a thousand has failed, the newest hundred go on, a tenth is the small workspace's, some are nobody's. */
beforeAll(async () => {
  expect(await list({})).toEqual([])
  await sql`select pgflow.create_flow('common')`
  await sql`select pgflow.create_flow('rare')`
  await sql`
    insert into pgflow.runs (run_id, flow_slug, status, input, started_at, completed_at, failed_at)
    select gen_random_uuid(), case when n % 10000 = 0 then 'rare' else 'common' end, s, '{}', at,
           case s when 'completed' then at end, case s when 'failed' then at end
    from (select n, now() - n * interval '1 second' as at,
                 case when n <= 100 then 'started' when n % 1000 = 500 then 'failed' else 'completed' end as s
          from generate_series(1, 60000) n) x`
  await sql`select pgflow.add_step('common', 'work')`
  await sql`
    insert into pgflow.step_states (flow_slug, run_id, step_slug, status, error_message, created_at, started_at, failed_at, initial_tasks, remaining_tasks)
    select flow_slug, run_id, 'work', 'failed', 'No paper left', started_at, started_at, started_at, 1, 1 from pgflow.runs where status = 'failed'`
  await sql`
    insert into starflow.queue_runs (run_id, workspace_id, env, flow_slug, started_at)
    select run_id, case n % 10 when 0 then 'small' else 'big' end, case n % 7 when 0 then 'dev' else 'prod' end, flow_slug, started_at
    from (select *, row_number() over (order by started_at desc) as n from pgflow.runs) r where n % 5 < 4`
  await sql`analyze pgflow.runs, starflow.queue_runs`
})

interface Row {
  readonly run_id: string
  readonly status: string
  readonly workspace_id: string | null
  readonly started_at: Date
  readonly error: string | null
  readonly is_found: boolean
}

function list(args: Readonly<Record<string, unknown>>): Promise<Row[]> {
  const entries = Object.entries({ max_rows: 50, look_at: LOOK_AT, ...args })
  const text = entries.map(([key], index) => `${key} => $${index + 1}`).join(', ')
  return sql.unsafe(
    `select * from starflow.list_queue_runs(${text})`,
    entries.map(([, value]) => value as never),
  )
}

const found = (rows: readonly Row[]) => rows.filter((row) => row.is_found)

/** Rows of runs that this connection has read since the last look. */
async function rowsRead(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<[{ rows: string }]>`
    select seq_tup_read + idx_tup_fetch as rows from pg_stat_user_tables where relid = 'pgflow.runs'::regclass`
  return Number(row.rows)
}

async function costOf(args: Readonly<Record<string, unknown>>): Promise<{ runs: Row[]; read: number }> {
  const before = await rowsRead()
  const runs = found(await list(args))
  return { runs, read: (await rowsRead()) - before }
}

const HOURS_AGO = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

test.each([
  ['of all', {}],
  ['of a workspace', { workspace_id: 'small' }],
  ['of a time long ago', { started_from: HOURS_AGO(12), started_before: HOURS_AGO(11) }],
  [
    'of a workspace and a time long ago',
    { workspace_id: 'small', started_from: HOURS_AGO(12), started_before: HOURS_AGO(11) },
  ],
  ['that failed', { statuses: ['failed', 'cancelled'] }],
  ['that go on', { statuses: ['started'] }],
  ['behind one of long ago', { before_started_at: HOURS_AGO(10), before_id: 'ffffffff-0000-7000-8000-000000000000' }],
])('a page of runs %s reads hardly more rows than it has, among 60 000', async (_, args) => {
  const { runs, read } = await costOf(args)
  expect(runs).toHaveLength(50)
  expect(read).toBeLessThan(200)
})

test('the beginning of an id finds its run by the index of ids', async () => {
  const [row] = await sql<[{ run_id: string }]>`
    select run_id from starflow.queue_runs where workspace_id = 'small' order by started_at limit 1`
  const range = { first_id: row.run_id, last_id: row.run_id }
  const { runs, read } = await costOf(range)
  expect(runs.map((run) => run.run_id)).toEqual([row.run_id])
  expect(read).toBeLessThan(10)
  expect(found(await list({ ...range, workspace_id: 'small' }))).toHaveLength(1)
  expect(await list({ ...range, workspace_id: 'big' })).toEqual([])
})

test('a page that finds little looks no further than it is told to, and says where it ended', async () => {
  const before = await rowsRead()
  const rows = await list({ flow_slug: 'rare' })
  expect((await rowsRead()) - before).toBeLessThan(LOOK_AT + 100)
  expect(rows).toMatchObject([{ is_found: false, status: 'completed' }])
  const [last] = await sql`select run_id from pgflow.runs order by started_at desc offset ${LOOK_AT - 1} limit 1`
  expect(rows[0]!.run_id).toBe(last!.run_id)
})

test('page by page everything is found once, the newest first', async () => {
  const wanted = await sql<{ run_id: string }[]>`
    select run_id from pgflow.runs where flow_slug = 'rare' order by started_at desc`
  const seen: string[] = []
  for (let cursor = {}, ended = false; !ended; ) {
    const rows = await sql<(Row & { at: string })[]>`
      select *, started_at::text as at from starflow.list_queue_runs(flow_slug => 'rare', max_rows => 2, look_at => 20000,
        before_started_at => ${(cursor as { at?: string }).at ?? null}::text::timestamptz, before_id => ${(cursor as { id?: string }).id ?? null})`
    seen.push(...found(rows).map((row) => row.run_id))
    const last = rows.at(-1)
    cursor = { at: last?.at, id: last?.run_id }
    ended = last === undefined
  }
  expect(seen).toEqual(wanted.map((row) => row.run_id))
  expect(seen).toHaveLength(6)
})

describe('a text', () => {
  test('finds runs by a part of their error or flow slug, or the beginning of their id', async () => {
    const byError = found(await list({ search: 'paper', statuses: ['failed'] }))
    expect(byError).toHaveLength(50)
    expect(new Set(byError.map((run) => run.error))).toEqual(new Set(['No paper left']))
    expect(found(await list({ search: 'rar', look_at: 20_000 }))).toHaveLength(2)
    const [{ run_id: id }] = byError as [Row]
    expect(found(await list({ search: id.slice(0, 6) })).map((run) => run.run_id)).toContain(id)
  })

  test('is no pattern', async () => {
    expect(found(await list({ search: 'no%left', statuses: ['failed'] }))).toEqual([])
    expect(found(await list({ search: 'no_paper', statuses: ['failed'] }))).toEqual([])
  })
})

test('a list is narrowed by workspace, env and statuses at once', async () => {
  const rows = found(
    await list({ workspace_id: 'big', env: 'dev', statuses: ['failed', 'completed'], look_at: 60_000 }),
  )
  expect(rows).toHaveLength(50)
  expect(new Set(rows.map((row) => row.workspace_id))).toEqual(new Set(['big']))
  expect(rows.some((row) => row.status === 'started')).toBe(false)
})
