import postgres from 'postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { brokenInvariants } from '../../../tests/support/invariants.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { untilBlocked } from './support/blocked.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { EngineCalls } from './support/engine-calls.ts'
import { shape } from './support/shape.ts'

const { sql, url } = await testDatabase()
await sql`create extension pg_cron`

let flow: CompiledFlow
let flows = 0
beforeEach(async () => {
  await sql`select pgflow.prune_data_older_than(interval '1 microsecond')`
  flow = await CompiledFlow.compileShape(
    sql,
    `kept${++flows}`,
    shape({ a: { maxAttempts: 1 }, b: { after: ['a'], map: true } }),
  )
})

/** Runs that ended this long ago, with the messages of that day in the archives; their step a fails where the input says so. */
async function endedRuns(ago: string, ...inputs: ('completes' | 'fails')[]): Promise<string[]> {
  const runIds = await flow.start(...inputs)
  await flow.drain((task) => (task.stepSlug === 'a' && task.flowInput === 'fails' ? new Error('boom') : [1, 2]))
  await sql`
    update pgflow.runs set started_at = started_at - ${ago}::interval, completed_at = completed_at - ${ago}::interval,
      failed_at = failed_at - ${ago}::interval
    where run_id = any (${runIds}::uuid[])`
  for (const step of ['a', 'b']) {
    await sql.unsafe(
      `
      update pgmq.a_${flow.queue(step)} a set archived_at = a.archived_at - $1::interval
      where a.msg_id in (select t.message_id from pgflow.step_tasks t where t.run_id = any ($2::uuid[]) and t.step_slug = $3)`,
      [ago, runIds, step],
    )
  }
  return runIds
}
const prune = async (retention: string, maxRuns = 100) =>
  Number((await sql`select pgflow.prune_data_older_than(${retention}::interval, ${maxRuns}) as n`)[0]!.n)
const kept = async () =>
  (await sql`select run_id from pgflow.runs where flow_slug = ${flow.slug} order by run_id`).map((row) => row.run_id)
const archived = async (step: string) => (await sql.unsafe(`select from pgmq.a_${flow.queue(step)}`)).length

describe('prune_data_older_than', () => {
  test('deletes what ended longer ago, with everything that belongs to it, and nothing else', async () => {
    const old = await endedRuns('31 days', 'completes', 'fails')
    const young = await endedRuns('29 days', 'completes')
    const [open] = await flow.start('completes')
    await sql`update pgflow.runs set started_at = started_at - interval '90 days' where run_id = ${open!}`
    expect(await archived('b')).toBe(4)

    expect(await prune('30 days')).toBe(2)
    expect(await kept()).toEqual([...young, open].toSorted())
    for (const table of ['step_states', 'step_tasks', 'task_attempts', 'waits']) {
      expect(await sql`select from pgflow.${sql(table)} where run_id = any (${old}::uuid[])`).toHaveLength(0)
    }
    expect([await archived('a'), await archived('b')]).toEqual([1, 2])
    expect(await prune('30 days')).toBe(0)
    await flow.drain(() => [1])
    expect(await sql`select status from pgflow.runs where run_id = ${open!}`).toEqual([{ status: 'completed' }])
    expect(await brokenInvariants(sql)).toEqual([])
  })

  test('deletes no more than it is told to, the oldest first', async () => {
    const runs = await endedRuns('31 days', 'completes', 'completes', 'completes')
    expect(await prune('30 days', 2)).toBe(2)
    expect(await kept()).toEqual([runs.toSorted()[2]])
  })

  test('says what it would delete, and deletes nothing', async () => {
    const runs = await endedRuns('31 days', 'completes', 'completes')
    expect(await sql`select pgflow.prune_data_older_than(interval '30 days', 1, dry_run => true) as n`).toEqual([
      { n: '2' },
    ])
    expect(await kept()).toEqual(runs.toSorted())
  })

  test('waits for nobody: a run that is being retried is left', async () => {
    const [retried, other] = await endedRuns('31 days', 'fails', 'fails')
    const second = postgres(url, { max: 1, onnotice: () => {} })
    await second.begin(async (transaction) => {
      await transaction`select pgflow.retry_run(${retried!})`
      expect(await prune('30 days')).toBe(1)
    })
    await second.end()
    expect(await kept()).toEqual([retried])
    expect(await sql`select from pgflow.step_states where run_id = ${other!}`).toHaveLength(0)
  })

  test('goes on where a flow is deleted meanwhile, whose archive it waited for', async () => {
    await endedRuns('31 days', 'completes')
    const other = await CompiledFlow.compileShape(sql, `gone${flows}`, shape({ a: {} }))
    const deleting = postgres(url, { max: 1, onnotice: () => {} })
    const pruning = postgres(url, { max: 1, onnotice: () => {}, connection: { application_name: 'pruning' } })
    let pruned: Promise<readonly { n: string }[]> | undefined
    await deleting.begin(async (transaction) => {
      await transaction`select pgflow.delete_flow_and_data(${other.slug})`
      pruned = pruning<{ n: string }[]>`select pgflow.prune_data_older_than(interval '30 days') as n`.execute()
      await untilBlocked(sql, 'pruning')
    })
    expect(await pruned).toEqual([{ n: '1' }])
    expect([await kept(), await archived('a')]).toEqual([[], 0])
    await Promise.all([deleting.end(), pruning.end()])
  })

  test.each(['0 days', '-1 days', null])('refuses a retention of %s', async (retention) => {
    await endedRuns('31 days', 'completes')
    for (const name of ['pgflow.prune_data_older_than', 'starflow.prune_runs']) {
      await expect(sql.unsafe(`select ${name}($1::interval)`, [retention as string])).rejects.toMatchObject({
        code: 'SF001',
      })
    }
    expect(await kept()).toHaveLength(1)
  })
})

describe('runs on runners', async () => {
  const engine = new EngineCalls(sql)
  const definitionId = await engine.definition()
  const onRunners = async () =>
    (await sql`select id from starflow.workflow_runs order by created_at`).map(({ id }) => id)

  /** A run with everything that one can have, which ended this long ago. */
  async function ended(ago: string, end: 'success' | 'error' | 'cancelled' = 'success'): Promise<string> {
    const runId = await engine.enqueue(definitionId)
    const claim = (await engine.claim('r1', definitionId))!
    expect(claim.run_id).toBe(runId)
    await engine.call('on_run_start', {
      ...{ ...claim, template_id: 'orders', workspace_id: 'shop', env: 'prod', input: {} },
    })
    await engine.call('on_node_start', { ...claim, node_id: 'a', attempt: 1, input: {} })
    await engine.call('on_node_complete', { ...claim, node_id: 'a', output: 'done' })
    await engine.call('open_wait', { ...claim, node_id: 'w' })
    await engine.call('enqueue_worker_job', {
      ...claim,
      node_id: 'a',
      kind: 'press',
      payload: {},
      idempotency_key: 'k',
    })
    await engine.call('session_set', { ...claim, session_id: 's', key: runId, value: 1, keep_for_ms: 86_400_000 })
    if (end === 'success') await engine.call('on_run_complete', { ...claim, output: 'done', duration_ms: 1 })
    else if (end === 'error') await engine.call('on_run_error', { ...claim, error: { message: 'boom' } })
    else await engine.call('cancel_run', { run_id: runId, reason: 'enough' })
    await engine.call('clear_lease', { ...claim })
    await sql`
      update starflow.workflow_runs set completed_at = completed_at - ${ago}::interval, cancelled_at = cancelled_at - ${ago}::interval
      where id = ${runId}`
    return runId
  }

  beforeEach(async () => {
    await sql`delete from starflow.workflow_runs`
  })

  test('go with their events, waits and jobs when they ended longer ago, and what a session keeps stays', async () => {
    const old = [await ended('31 days'), await ended('31 days', 'error'), await ended('31 days', 'cancelled')]
    const young = await ended('29 days')
    const open = await engine.enqueue(definitionId)
    await sql`update starflow.workflow_runs set created_at = created_at - interval '90 days' where id = ${open}`
    expect(await sql`select pgflow.prune_data_older_than(interval '30 days', dry_run => true) as n`).toEqual([
      { n: '3' },
    ])
    expect(await onRunners()).toHaveLength(5)

    expect(await prune('30 days')).toBe(3)
    expect((await onRunners()).toSorted()).toEqual([young, open].toSorted())
    for (const table of ['workflow_run_events', 'workflow_waits', 'worker_jobs']) {
      expect(await sql`select from starflow.${sql(table)} where run_id = any (${old}::uuid[])`).toHaveLength(0)
    }
    // An end has closed the waits of its run already.
    for (const table of ['workflow_run_events', 'worker_jobs']) {
      expect(await sql`select from starflow.${sql(table)} where run_id = ${young}`).not.toHaveLength(0)
    }
    expect(await sql`select key from starflow.workflow_session_vars where run_id is null order by key`).toEqual(
      old.toSorted().map((key) => ({ key })),
    )
    expect(await prune('30 days')).toBe(0)
  })

  test('are counted beside those on step queues, and no more of either go than is said', async () => {
    await endedRuns('31 days', 'completes', 'completes')
    for (const _ of [1, 2, 3]) await ended('31 days')
    expect(await prune('30 days', 2)).toBe(4)
    expect(await prune('30 days', 2)).toBe(1)
  })

  test('wait for nobody: one that is being retried, or that its runner still holds, is left', async () => {
    const [retried, held, other] = [await ended('31 days', 'error'), await ended('31 days'), await ended('31 days')]
    await sql`
      update starflow.workflow_runs set leased_by = 'r1', lease_until = now() + interval '30 seconds' where id = ${held}`
    const second = postgres(url, { max: 1, onnotice: () => {} })
    await second.begin(async (transaction) => {
      await transaction`select starflow.retry_run(${retried})`
      expect(await prune('30 days')).toBe(1)
    })
    await second.end()
    expect((await onRunners()).toSorted()).toEqual([retried, held].toSorted())
    expect(await sql`select from starflow.workflow_run_events where run_id = ${other}`).toHaveLength(0)
  })
})

test('setup_prune_data_cron has it done hourly, until it is unscheduled', async () => {
  await sql`select pgflow.setup_prune_data_cron(interval '30 days')`
  const [job] = await sql<
    { schedule: string; command: string }[]
  >`select schedule, command from cron.job where jobname = 'pgflow_prune_data'`
  expect(job!.schedule).toBe('17 * * * *')
  await endedRuns('31 days', 'completes')
  await sql.unsafe(job!.command)
  expect(await kept()).toEqual([])
  await expect(sql`select pgflow.setup_prune_data_cron(interval '0')`).rejects.toMatchObject({ code: 'SF001' })
  await sql`select cron.unschedule('pgflow_prune_data')`
})
