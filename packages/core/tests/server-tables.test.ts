import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch>) => CompiledFlow.compileShape(sql, `served${++count}`, shape(steps))

interface Start {
  readonly workspace?: string
  readonly env?: string
  readonly key?: string
  readonly delayMs?: number
}

async function start(
  flow: CompiledFlow,
  { workspace = 'shop', env = 'prod', key, delayMs = 0 }: Start = {},
  client = sql,
) {
  const [row] = await client<[{ run_id: string; created: boolean }]>`
    select * from starflow.start_queue_run(${workspace}, ${env}, ${flow.slug}, '{}', ${key ?? null}, ${delayMs})`
  return row
}

test('a database has one id, which stays', async () => {
  const [first] = await sql`select starflow.database_id() as id`
  const [second] = await sql`select starflow.database_id() as id`
  expect(first).toEqual(second)
  expect(await refusal(sql`insert into starflow.database_identity (is_only) values (false)`)).toMatchObject({
    code: '23514',
  })
  expect(await refusal(sql`insert into starflow.database_identity default values`)).toMatchObject({ code: '23505' })
})

describe('a token', () => {
  const hash = 'a'.repeat(64)

  test('is found by its id until it is revoked, which may be repeated', async () => {
    await sql`select starflow.create_api_token('t1', 'shop', 'ci', ${hash})`
    expect(await sql`select workspace_id, secret_hash from starflow.find_api_token('t1')`).toEqual([
      { workspace_id: 'shop', secret_hash: hash },
    ])
    for (let time = 0; time < 2; time++) {
      expect(await sql`select starflow.revoke_api_token('t1') as revoked`).toEqual([{ revoked: true }])
    }
    expect(await sql`select * from starflow.find_api_token('t1')`).toEqual([])
    expect(await sql`select starflow.revoke_api_token('t0') as revoked`).toEqual([{ revoked: false }])
  })

  test('is listed with its workspace, also when it was revoked', async () => {
    await sql`select starflow.create_api_token('t2', 'bank', 'ci', ${hash})`
    expect(await sql`select token_id from starflow.list_api_tokens('bank')`).toEqual([{ token_id: 't2' }])
    expect(await sql`select token_id from starflow.list_api_tokens()`).toEqual([{ token_id: 't2' }, { token_id: 't1' }])
  })

  test('keeps nothing that is no SHA-256', async () => {
    const kept = sql`select starflow.create_api_token('t3', 'shop', 'ci', 'the secret itself')`
    expect(await refusal(kept)).toMatchObject({ code: '23514' })
  })
})

describe('a start for a workspace', () => {
  test('starts a run that is the workspace’s', async () => {
    const flow = await compile({ a: {} })
    const { run_id, created } = await start(flow)
    expect(created).toBe(true)
    expect(await flow.steps(run_id)).toEqual({ a: 'started' })
    const runs =
      await sql`select run_id, workspace_id, env, status from starflow.list_queue_runs('shop', flow_slug => ${flow.slug})`
    expect(runs).toEqual([{ run_id, workspace_id: 'shop', env: 'prod', status: 'started' }])
  })

  test('gives the run of its idempotency key, and another workspace or env its own', async () => {
    const flow = await compile({ a: {} })
    const first = await start(flow, { key: 'order 7' })
    expect(await start(flow, { key: 'order 7' })).toEqual({ run_id: first.run_id, created: false })
    expect(await start(flow, { key: 'order 7', env: 'dev' })).toMatchObject({ created: true })
    expect(await start(flow, { key: 'order 7', workspace: 'bank' })).toMatchObject({ created: true })
  })

  test('refuses the key for another flow', async () => {
    await start(await compile({ a: {} }), { key: 'order 8' })
    expect(await refusal(start(await compile({ a: {} }), { key: 'order 8' }))).toMatchObject({ code: 'SF202' })
  })

  test('of two at once with one key starts one run, which both are given', async () => {
    const flow = await compile({ a: {} })
    const second = database.connect({ settings: { application_name: 'second start' } })
    const [one, two] = await sql.begin(async (transaction) => {
      const first = await start(flow, { key: 'order 9' }, transaction as never)
      const other = start(flow, { key: 'order 9' }, second)
      await untilBlocked(sql, 'second start')
      return [first, other] as const
    })
    expect(await two).toEqual({ run_id: one.run_id, created: false })
  })

  test('of a flow that does not exist leaves nothing', async () => {
    expect(
      await refusal(sql`select * from starflow.start_queue_run('shop', 'prod', 'nowhere', '{}', 'order 10')`),
    ).toMatchObject({ code: 'SF201' })
    expect(await sql`select from starflow.queue_runs where idempotency_key = 'order 10'`).toEqual([])
  })

  test('gives nothing out before its delay is over', async () => {
    const flow = await compile({ a: {} })
    await start(flow, { delayMs: 60_000 })
    expect(await flow.hidden('a')).toEqual([60])
  })

  test('as service_role needs no rights but those of the server', async () => {
    const flow = await compile({ a: {} })
    expect(await start(flow, {}, database.as('service_role'))).toMatchObject({ created: true })
  })

  test('is forgotten with its flow', async () => {
    const flow = await compile({ a: {} })
    const { run_id } = await start(flow)
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
    expect(await sql`select from starflow.queue_runs where run_id = ${run_id}`).toEqual([])
  })
})

describe('the list of runs', () => {
  test('pages through the runs of one workspace, the newest first', async () => {
    const flow = await compile({ a: {} })
    const started: string[] = []
    for (let index = 0; index < 5; index++) {
      started.push((await start(flow, { workspace: 'pages' })).run_id)
      await start(flow, { workspace: 'others' })
    }
    const listed: string[] = []
    let before: { run_id: string; started_at: string } | undefined
    for (;;) {
      const page: { run_id: string; started_at: string }[] = await sql`
        select run_id, started_at::text from starflow.list_queue_runs('pages', before_started_at => ${before?.started_at ?? null}::text::timestamptz,
          before_id => ${before?.run_id ?? null}, max_rows => 2)`
      if (page.length === 0) break
      listed.push(...page.map((run) => run.run_id))
      before = page.at(-1)
    }
    expect(listed).toEqual(started.toReversed())
    expect(listed).toHaveLength(5)
  })

  test('shows what was started in SQL only where every workspace is asked for', async () => {
    const flow = await compile({ a: {} })
    const [run_id] = await flow.start({})
    const all = await sql`select run_id, workspace_id from starflow.list_queue_runs(flow_slug => ${flow.slug})`
    expect(all).toEqual([{ run_id, workspace_id: null }])
    expect(await sql`select run_id from starflow.list_queue_runs('shop', flow_slug => ${flow.slug})`).toEqual([])
  })

  test('tells why a run failed', async () => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    await start(flow)
    await flow.drain(() => new Error('no paper'))
    const [run] =
      await sql`select status, error from starflow.list_queue_runs('shop', flow_slug => ${flow.slug}, statuses => '{failed}')`
    expect(run).toEqual({ status: 'failed', error: 'no paper' })
  })
})

describe('what happened to a run', () => {
  const eventsOf = async (runId: string) =>
    (await sql`select event_type, node_id, attempt from starflow.queue_run_events(${runId})`).map(
      ({ event_type, node_id, attempt }) => [event_type, node_id, attempt].filter((part) => part !== null).join(' '),
    )

  test('is read off its tables in the order in which it happened', async () => {
    const flow = await compile({ list: {}, each: { after: ['list'], map: true } })
    const { run_id } = await start(flow)
    await flow.drain((task) => (task.stepSlug === 'list' ? ['x', 'y'] : task.input))
    expect(await eventsOf(run_id)).toEqual([
      'run_started 0',
      'node_start list 1',
      'node_complete list 0',
      'node_start each[0] 1',
      'node_start each[1] 1',
      'node_complete each 0',
      'node_complete each[0] 1',
      'node_complete each[1] 1',
      'run_completed 0',
    ])
  })

  test('tells retries and the end of the last attempt apart', async () => {
    const flow = await compile({ a: { maxAttempts: 2, baseDelay: 1 } })
    const { run_id } = await start(flow)
    for (let attempt = 0; attempt < 2; attempt++) {
      await flow.reveal('a')
      const [task] = await flow.claim('a')
      await flow.core.settleTasks(flow.workerId, [failed(task!)])
    }
    const events = await eventsOf(run_id)
    expect(events.filter((event) => event !== 'node_start a 2')).toEqual([
      'run_started 0',
      'node_retry a 1',
      'node_error a 2',
      'run_failed 0',
    ])
  })

  test('is read page by page, also where the elements of a map begin and end at one instant', async () => {
    const flow = await compile({ list: {}, each: { after: ['list'], map: true } })
    const { run_id } = await start(flow)
    await flow.drain((task) => (task.stepSlug === 'list' ? ['x', 'y', 'z'] : task.input))
    const all = await sql`select *, happened_at::text as at from starflow.queue_run_events(${run_id})`
    const read: (typeof all)[number][] = []
    for (let page = 0; page <= all.length; page++) {
      const last = read.at(-1)
      // As text: the driver would round an instant to milliseconds.
      const events = await sql`
        select *, happened_at::text as at from starflow.queue_run_events(${run_id}, ${last?.at ?? null}::text::timestamptz,
          ${last?.event_type ?? null}, ${last?.node_id ?? null}, ${last?.attempt ?? null}::integer, 2)`
      expect(events.length).toBeLessThanOrEqual(2)
      read.push(...events)
    }
    expect(read).toEqual([...all])
  })

  test('begins at an instant where one is given', async () => {
    const flow = await compile({ a: {} })
    const { run_id } = await start(flow)
    const [task] = await flow.claim('a')
    await flow.core.settleTasks(flow.workerId, [completed(task!, 1)])
    const [end] = await sql`select completed_at from pgflow.runs where run_id = ${run_id}`
    const later =
      await sql`select event_type from starflow.queue_run_events(${run_id}, ${end!.completed_at}::timestamptz + interval '1 ms')`
    expect(later).toEqual([])
    expect(await sql`select event_type from starflow.queue_run_events(${randomUUID()})`).toEqual([])
  })
})
