import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from './support/compiled-flow.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps = shape({ a: {}, b: { after: ['a'] } }), mode: 'flow' | 'step' = 'step') =>
  CompiledFlow.compileShape(sql, `view${++count}`, steps, mode)
const register = async (flow: CompiledFlow, step: string, functionName: string) => {
  const workerId = randomUUID()
  await flow.core.registerWorker({ workerId, queueName: flow.queue(step), functionName })
  return workerId
}

describe('queue_coverage', () => {
  const coverage = async (flow: CompiledFlow) =>
    await sql`
      select step_slug, step_index, queue_name, depth, oldest_age, live_workers, function_names, fenced
      from pgflow.queue_coverage where flow_slug = ${flow.slug} order by step_index`

  test('lists each route with the depth of its queue, and no worker where there is none', async () => {
    const flow = await compile()
    await flow.start(1, 2)
    expect(await coverage(flow)).toMatchObject([
      {
        step_slug: 'a',
        step_index: 0,
        queue_name: flow.queue('a'),
        depth: 2,
        live_workers: 0,
        function_names: null,
        fenced: false,
      },
      { step_slug: 'b', step_index: 1, queue_name: flow.queue('b'), depth: 0, oldest_age: null, live_workers: 0 },
    ])
  })

  test('tells how long the oldest message has been there', async () => {
    const flow = await compile()
    await flow.start(1)
    await sql.unsafe(`update pgmq.q_${flow.queue('a')} set enqueued_at = enqueued_at - interval '1 hour'`)
    expect(
      await sql`select oldest_age > interval '1 hour' as is_old from pgflow.queue_coverage where queue_name = ${flow.queue('a')}`,
    ).toEqual([{ is_old: true }])
  })

  test('counts only workers of that queue that live and go on, and names their functions', async () => {
    const flow = await compile()
    await register(flow, 'a', 'one')
    await register(flow, 'a', 'two')
    await flow.core.deprecateWorker(await register(flow, 'a', 'leaving'))
    await flow.core.markWorkerStopped(await register(flow, 'a', 'stopped'))
    const silent = await register(flow, 'a', 'silent')
    await sql`update pgflow.workers set last_heartbeat_at = now() - interval '20 seconds' where worker_id = ${silent}`
    await register(flow, 'b', 'other')
    expect(await coverage(flow)).toMatchObject([
      { live_workers: 2, function_names: ['leaving', 'one', 'silent', 'stopped', 'two'] },
      { live_workers: 1, function_names: ['other'] },
    ])
  })

  test('counts a released worker, which names its queue in the case of its flow', async () => {
    const slug = `Released${++count}`
    const flow = await CompiledFlow.compileShape(sql, slug, shape({ a: {} }), 'flow')
    await sql`insert into pgflow.workers (queue_name, worker_id, function_name) values (${slug}, ${randomUUID()}, ${slug})`
    await flow.start({})
    expect(await coverage(flow)).toMatchObject([{ queue_name: slug.toLowerCase(), depth: 1, live_workers: 2 }])
    expect(await sql`select live_workers::integer from pgflow.version_drain where flow_slug = ${slug}`).toEqual([
      { live_workers: 2 },
    ])
  })

  test('says where a function of a queue is fenced', async () => {
    const flow = await compile()
    await register(flow, 'b', 'shut')
    await sql`update pgflow.worker_functions set enabled = false where function_name = 'shut'`
    expect(await coverage(flow)).toMatchObject([{ fenced: false }, { fenced: true }])
  })

  test('stops counting at 1000', async () => {
    const flow = await compile(shape({ each: { map: true } }))
    await flow.start(Array.from({ length: 1200 }, (_, n) => n))
    expect(await coverage(flow)).toMatchObject([{ depth: 1000 }])
  })

  test('shows a queue that was dropped without a depth', async () => {
    const flow = await compile()
    await sql`select pgmq.drop_queue(${flow.queue('a')})`
    expect(await coverage(flow)).toMatchObject([
      { step_slug: 'a', depth: null },
      { step_slug: 'b', depth: 0 },
    ])
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
  })

  test('gives each step of a plain flow the depth of the one queue', async () => {
    const flow = await compile(shape({ a: {}, b: {} }), 'flow')
    await flow.start(1)
    expect(await coverage(flow)).toMatchObject([{ depth: 2 }, { depth: 2 }])
  })
})

describe('unsupported_messages', () => {
  beforeAll(async () => void (await sql`delete from pgflow.task_attempts`))
  const unsupported = async () =>
    await sql`
    select queue_name, message_id, read_count, enqueued_at, visible_at, run_id from pgflow.unsupported_messages order by queue_name, message_id`

  test('is empty where all messages have a task, and after runs have ended', async () => {
    const flow = await compile()
    await flow.start(1, 2)
    await flow.drain(() => 1)
    await flow.start(3)
    expect(await unsupported()).toEqual([])
  })

  test('lists a message that no task knows, with how often it was read, and never its body', async () => {
    const flow = await compile()
    const [sent] = await sql<{ id: string }[]>`select pgmq.send(${flow.queue('b')}, '{"password": "hunter2"}') as id`
    await flow.claim('b')
    const found = await unsupported()
    expect(found).toEqual([
      {
        queue_name: flow.queue('b'),
        message_id: sent!.id,
        read_count: 1,
        enqueued_at: expect.any(Date),
        visible_at: expect.any(Date),
        run_id: null,
      },
    ])
    expect(JSON.stringify(found)).not.toContain('hunter2')
    await sql`select pgmq.archive(${flow.queue('b')}, ${sent!.id}::bigint)`
    expect(await unsupported()).toEqual([])
  })

  test('lists the messages of runs whose rows were deleted by hand', async () => {
    const flow = await compile()
    const [runId] = await flow.start(1)
    await sql`delete from pgflow.step_tasks where run_id = ${runId!}`
    expect(await unsupported()).toMatchObject([{ queue_name: flow.queue('a'), message_id: '1', read_count: 0 }])
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
  })
})

test('version_drain shows the open runs and live workers of each concrete flow', async () => {
  const [old, fresh] = [await compile(), await compile()]
  const [open, done] = await old.start(1, 2)
  await sql`update pgflow.runs set started_at = started_at - interval '1 day' where run_id = ${open!}`
  for (const step of ['a', 'b']) {
    const tasks = (await old.claim(step)).filter((task) => task.runId === done)
    await old.core.settleTasks(
      old.workerId,
      tasks.map((task) => completed(task, 1)),
    )
  }
  await register(old, 'a', 'old-a')
  await old.core.deprecateWorker(await register(old, 'b', 'old-b'))
  const drain = async (slug: string) =>
    (
      await sql`
        select queue_mode, open_runs::integer, live_workers::integer,
               oldest_open_run_at < now() - interval '23 hours' as is_old, compiled_at <= now() as is_compiled
        from pgflow.version_drain where flow_slug = ${slug}`
    )[0]
  expect(await drain(old.slug)).toEqual({
    queue_mode: 'step',
    open_runs: 1,
    live_workers: 1,
    is_old: true,
    is_compiled: true,
  })
  expect(await drain(fresh.slug)).toEqual({
    queue_mode: 'step',
    open_runs: 0,
    live_workers: 0,
    is_old: null,
    is_compiled: true,
  })
})
