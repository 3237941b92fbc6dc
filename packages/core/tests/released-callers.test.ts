import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import postgres from 'postgres'
import { beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { expectAllWell } from './support/oracle.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

interface StartedTask {
  flow_slug: string
  run_id: string
  step_slug: string
  input: Json
  msg_id: string
  task_index: number
  flow_input: Json
}

/** A worker of the released line: only its SQL, in its order and with its arguments. */
class ReleasedWorker {
  readonly workerId = randomUUID()
  readonly slug: string

  constructor(slug: string) {
    this.slug = slug
  }

  async start(steps: ReturnType<typeof shape>): Promise<string> {
    await sql`select pgflow.track_worker_function(${this.slug})`
    const [row] = await sql<{ result: { status: string } }[]>`
      select pgflow.ensure_flow_compiled(${this.slug}, ${JSON.stringify(steps)}::text::jsonb) as result`
    await sql`
      insert into pgflow.workers (queue_name, worker_id, function_name) values (${this.slug}, ${this.workerId}, ${this.slug}) returning *`
    return row!.result.status
  }

  async poll(): Promise<string[]> {
    const rows = await sql<{ msg_id: string }[]>`
      select * from pgmq.read_with_poll(queue_name => ${this.slug}, vt => 2, qty => 10, max_poll_seconds => 1, poll_interval_ms => 50)`
    return rows.map((row) => row.msg_id)
  }

  async claim(): Promise<StartedTask[]> {
    const ids = await this.poll()
    return await sql<StartedTask[]>`
      select * from pgflow.start_tasks(flow_slug => ${this.slug}, msg_ids => ${ids}::bigint[], worker_id => ${this.workerId}::uuid)`
  }

  async complete(task: StartedTask, output: Json): Promise<void> {
    await sql`
      select pgflow.complete_task(run_id => ${task.run_id}::uuid, step_slug => ${task.step_slug}::text,
        task_index => ${task.task_index}::int, output => ${JSON.stringify(output)}::text::jsonb)`
  }

  async fail(task: StartedTask, message: string): Promise<void> {
    await sql`
      select pgflow.fail_task(run_id => ${task.run_id}::uuid, step_slug => ${task.step_slug}::text,
        task_index => ${task.task_index}::int, error_message => ${message}::text)`
  }
}

const STEPS = shape({
  list: { maxAttempts: 2, baseDelay: 0 },
  each: { map: true, after: ['list'] },
  sum: { after: ['each'] },
})

describe('the SQL of a released worker', () => {
  const worker = new ReleasedWorker('released')
  beforeAll(async () => expect(await worker.start(STEPS)).toBe('compiled'))

  test('runs a plain flow to its end, retries and maps included', async () => {
    const [run] = await sql<
      { run_id: string }[]
    >`select * from pgflow.start_flow(flow_slug => 'released', input => '{"n": 3}')`
    const [first] = await worker.claim()
    expect(first).toMatchObject({
      flow_slug: 'released',
      run_id: run!.run_id,
      step_slug: 'list',
      task_index: 0,
      input: {},
      flow_input: { n: 3 },
    })
    await worker.fail(first!, 'once')
    const [again] = await worker.claim()
    await worker.complete(again!, [1, null, 3])
    const elements = await worker.claim()
    expect(elements.map((task) => [task.task_index, task.input, task.flow_input])).toEqual([
      [0, 1, null],
      [1, null, null],
      [2, 3, null],
    ])
    for (const task of elements) await worker.complete(task, task.input)
    const [sum] = await worker.claim()
    expect(sum).toMatchObject({ step_slug: 'sum', input: { each: [1, null, 3] }, flow_input: null })
    await worker.complete(sum!, 4)
    expect(await sql`select status, output from pgflow.runs where run_id = ${run!.run_id}`).toEqual([
      { status: 'completed', output: { sum: 4 } },
    ])
    await sql`update pgflow.workers set last_heartbeat_at = now() where worker_id = ${worker.workerId}`
    await sql`select pgflow.mark_worker_stopped(${worker.workerId})`
    await expectAllWell(sql)
  })

  test('finds its flow verified at the next start, and a changed one refused', async () => {
    expect(await new ReleasedWorker('released').start(STEPS)).toBe('verified')
    const changed = shape({ list: {} })
    const [row] =
      await sql`select pgflow.ensure_flow_compiled('released', ${JSON.stringify(changed)}::text::jsonb) as result`
    expect(row!.result).toMatchObject({ status: 'mismatch', differences: expect.arrayContaining([expect.any(String)]) })
  })

  test('answers complete_task and fail_task with the row of the task', async () => {
    const other = new ReleasedWorker('rows')
    await other.start(shape({ a: { maxAttempts: 2, baseDelay: 0 } }))
    await sql`select pgflow.start_flow('rows', '{}')`
    const [task] = await other.claim()
    expect(await sql`select status, error_message from pgflow.fail_task(${task!.run_id}, 'a', 0, 'why')`).toEqual([
      { status: 'queued', error_message: 'why' },
    ])
    await other.claim()
    expect(await sql`select status, output from pgflow.complete_task(${task!.run_id}, 'a', 0, 'null')`).toEqual([
      { status: 'completed', output: null },
    ])
    expect(await sql`select status from pgflow.complete_task(${task!.run_id}, 'a', 0, '"again"')`).toEqual([
      { status: 'completed' },
    ])
  })
})

describe('start_tasks', () => {
  const worker = new ReleasedWorker('started')
  const ours = new ReleasedWorker('startedtoo')
  beforeAll(async () => {
    await worker.start(shape({ a: { timeout: 20 }, b: { timeout: 40 } }))
    await ours.start(shape({ a: {} }))
  })
  const begin = async (slug = 'started') => {
    await sql`select pgflow.start_flow(${slug}, '{}')`
    const rows = await sql<{ msg_id: string }[]>`select msg_id from pgmq.read(${slug}, 0, 100)`
    return rows.map((row) => row.msg_id)
  }
  const startTasks = async (ids: string[] | null, workerId = worker.workerId, slug = 'started') =>
    await sql<StartedTask[]>`select * from pgflow.start_tasks(${slug}, ${ids}::bigint[], ${workerId}::uuid)`
  const finish = async (slug = 'started') => {
    await sql`select pgflow.cancel_run(run_id) from pgflow.runs where flow_slug = ${slug}`
  }

  test.each([
    ['NULL', null],
    ['no', []],
  ])('gives nothing for %s message ids', async (_what, ids) => {
    expect(await startTasks(ids)).toEqual([])
  })

  test('claims each message once, counts the attempt, and hides it for timeout + 2 s of its step', async () => {
    const ids = await begin()
    expect((await startTasks(ids)).map((task) => task.step_slug).toSorted()).toEqual(['a', 'b'])
    expect(await startTasks(ids)).toEqual([])
    expect(
      await sql`
        select t.step_slug, t.attempts_count, t.last_worker_id, t.started_at is not null as is_dated,
               round(extract(epoch from q.vt - clock_timestamp()))::integer as hidden
        from pgmq.q_started q join pgflow.step_tasks t on t.queue_name = 'started' and t.message_id = q.msg_id order by 1`,
    ).toEqual([
      { step_slug: 'a', attempts_count: 1, last_worker_id: worker.workerId, is_dated: true, hidden: 22 },
      { step_slug: 'b', attempts_count: 1, last_worker_id: worker.workerId, is_dated: true, hidden: 42 },
    ])
    await finish()
  })

  test('leaves messages of other flows, of nobody and of runs that are over', async () => {
    const [foreign] = await begin('startedtoo')
    const [sent] = await sql<{ id: string }[]>`select pgmq.send('started', '{"of": "nobody"}') as id`
    const over = await begin()
    await finish()
    expect(await startTasks([foreign!, sent!.id, ...over, '9007199254740993'])).toEqual([])
    expect(await sql`select status, attempts_count from pgflow.step_tasks where flow_slug = 'startedtoo'`).toEqual([
      { status: 'queued', attempts_count: 0 },
    ])
    await sql`select pgmq.delete('started', ${sent!.id}::bigint)`
    await finish('startedtoo')
  })

  test('claims nothing at all when the visibility of one message cannot be set', async () => {
    const ids = await begin()
    await sql`select pgmq.delete('started', ${ids[0]!}::bigint)`
    expect((await refusal(startTasks(ids))).code).toBe('SF301')
    expect(
      await sql`select distinct t.attempts_count from pgflow.step_tasks t join pgflow.runs r on r.run_id = t.run_id where t.flow_slug = 'started' and r.status = 'started'`,
    ).toEqual([{ attempts_count: 0 }])
    await finish()
  })

  test('needs the row of the worker', async () => {
    const ids = await begin()
    expect((await refusal(startTasks(ids, randomUUID()))).code).toBe('23503')
    await finish()
  })

  test.each([
    ['deprecated', (id: string) => sql`select pgflow.deprecate_worker(${id})`],
    ['stopped', (id: string) => sql`select pgflow.mark_worker_stopped(${id})`],
    ['fenced', () => sql`select pgflow.fence_worker_functions('{started}', 'an operator')`],
  ])('gives nothing to a worker that is %s, and leaves the work to others', async (_what, stop) => {
    const leaving = new ReleasedWorker('started')
    await leaving.start(shape({ a: { timeout: 20 }, b: { timeout: 40 } }))
    const ids = await begin()
    await stop(leaving.workerId)
    expect(await startTasks(ids, leaving.workerId)).toEqual([])
    await sql`select pgflow.restore_worker_functions('{started}')`
    expect(await startTasks(ids)).toHaveLength(2)
    await finish()
  })

  test('of a step-queued flow needs queue and step, and says so', async () => {
    await sql`select pgflow.ensure_flow_compiled('private', ${JSON.stringify(shape({ a: {} }))}::text::jsonb, 'step')`
    await sql`select pgflow.start_flow('private', '{}')`
    expect(await refusal(startTasks(['1'], worker.workerId, 'private'))).toMatchObject({
      code: 'SF302',
      detail: 'Routes: a → private__a.',
    })
    const [task] = await sql`
      select * from pgflow.start_tasks('private', array[1]::bigint[], ${worker.workerId}::uuid, 'private__a', 'a')`
    expect(task).toMatchObject({ step_slug: 'a', msg_id: '1' })
  })
})

test('poll_for_tasks returns nothing and says that it is deprecated', async () => {
  const notices: string[] = []
  const client = postgres(database.url, {
    max: 1,
    onnotice: (notice) => notices.push(`${notice.severity}: ${notice.message}`),
  })
  expect(await client`select * from pgflow.poll_for_tasks('released', 5, 10)`).toHaveLength(0)
  await client.end()
  expect(notices).toEqual([expect.stringMatching(/^NOTICE: poll_for_tasks is deprecated/)])
})

test('the functions that scripts call after the work is done are there and change nothing', async () => {
  const [run] = await sql<{ run_id: string }[]>`select run_id from pgflow.start_flow('released', '{}')`
  const before = await sql`select * from pgflow.step_states where run_id = ${run!.run_id} order by step_slug`
  expect(
    await sql`
      select pgflow.start_ready_steps(${run!.run_id})::text as started, pgflow.maybe_complete_run(${run!.run_id})::text as completed,
             pgflow.cascade_complete_taskless_steps(${run!.run_id}) as cascaded`,
  ).toEqual([{ started: '', completed: '', cascaded: 0 }])
  expect(await sql`select * from pgflow.step_states where run_id = ${run!.run_id} order by step_slug`).toEqual(before)
})

test('the calls that the released compiler writes define a flow', async () => {
  await sql
    .unsafe(`
    SELECT pgflow.create_flow('written', max_attempts => 2, base_delay => 7, timeout => 9);
    SELECT pgflow.add_step('written', 'first');
    SELECT pgflow.add_step('written', 'second', ARRAY['first'], max_attempts => 1, start_delay => 3, required_input_pattern => '{"first": 1}',
      forbidden_input_pattern => '{"first": 2}', when_unmet => 'skip-cascade', when_exhausted => 'skip');
    SELECT pgflow.add_step('written', 'third', ARRAY['first'], step_type => 'map');
    SELECT pgflow.add_step('written', 'fourth', '{}', 1, 2, 3, 4, 'map');`)
    .simple()
  expect(
    await sql`
      select step_slug, step_type, step_index, deps_count, opt_max_attempts, opt_base_delay, opt_timeout, opt_start_delay, when_unmet, when_exhausted, queue_name
      from pgflow.steps where flow_slug = 'written' order by step_index`,
  ).toMatchObject([
    { step_slug: 'first', step_type: 'single', deps_count: 0, queue_name: 'written' },
    {
      step_slug: 'second',
      opt_max_attempts: 1,
      opt_start_delay: 3,
      when_unmet: 'skip-cascade',
      when_exhausted: 'skip',
    },
    { step_slug: 'third', step_type: 'map', deps_count: 1 },
    {
      step_slug: 'fourth',
      step_type: 'map',
      opt_max_attempts: 1,
      opt_base_delay: 2,
      opt_timeout: 3,
      opt_start_delay: 4,
    },
  ])
})

test('the clean-up of a project of the released line still works: tables in the order of its keys, after failures and waits too', async () => {
  await sql`select pgflow.create_flow('cleaned', max_attempts => 1), pgflow.add_step('cleaned', 'a'), pgflow.add_step('cleaned', 'asked', step_type => 'wait')`
  await sql`select vault.create_secret(repeat('s', 32), 'starflow_wait_token_secret')`
  const [run] = await sql<{ run_id: string }[]>`select run_id from pgflow.start_flow('cleaned', '{}')`
  const worker = new ReleasedWorker('cleaned')
  await sql`insert into pgflow.workers (queue_name, worker_id, function_name) values ('cleaned', ${worker.workerId}, 'cleaned')`
  const [message] = await sql<{ msg_id: string }[]>`select msg_id from pgmq.read('cleaned', 1, 1)`
  await sql`select pgflow.start_tasks('cleaned', array[${message!.msg_id}]::bigint[], ${worker.workerId})`
  await sql`select pgflow.fail_task(${run!.run_id}, 'a', 0, 'no')`
  await sql`insert into pgflow.waits (run_id, step_slug, opened_at) values (${run!.run_id}, 'asked', now())`
  expect(await sql`select from pgflow.task_attempts where run_id = ${run!.run_id}`).toHaveLength(1)
  for (const table of ['step_tasks', 'step_states', 'runs']) {
    await sql`delete from ${sql(`pgflow.${table}`)} where run_id = ${run!.run_id}`
  }
  for (const table of ['deps', 'steps', 'flows']) {
    await sql`delete from ${sql(`pgflow.${table}`)} where flow_slug = 'cleaned'`
  }
  expect(await sql`select from pgflow.task_attempts where run_id = ${run!.run_id}`).toHaveLength(0)
})
