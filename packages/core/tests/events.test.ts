import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import type { ClaimedTask } from '../src/index.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { recordEvents, sentEventNames, sentEvents } from './support/events.ts'
import { expectAllWell } from './support/oracle.ts'
import { type StepSketch, shape } from './support/shape.ts'

const database = await testDatabase()
const randomDatabase = await testDatabase()
const { sql } = database
await recordEvents(database)

let count = 0
const compile = (steps: Record<string, StepSketch>, mode: 'flow' | 'step' = 'flow') =>
  CompiledFlow.compileShape(sql, `events${++count}`, shape(steps, { baseDelay: 0 }), mode)

/** Runs one run of these steps to its end and gives the names of its events, in order. */
async function eventsOf(
  steps: Record<string, StepSketch>,
  input: Json,
  handler: (task: ClaimedTask) => Json | Error,
): Promise<string[]> {
  const flow = await compile(steps)
  const [runId] = await flow.start(input)
  await flow.drain(handler)
  return await sentEventNames(sql, runId!)
}

describe('exactly one event is sent for each transition, in their order, when', () => {
  test.each<[string, Record<string, StepSketch>, Json, (task: ClaimedTask) => Json | Error, string[]]>([
    [
      'a step follows another',
      { a: {}, b: { after: ['a'] } },
      {},
      () => 1,
      ['run:started', 'step:a:started', 'step:a:completed', 'step:b:started', 'step:b:completed', 'run:completed'],
    ],
    [
      'an attempt fails and the next one completes',
      { a: { maxAttempts: 2 } },
      {},
      (task) => (task.attempt === 1 ? new Error('once') : 1),
      ['run:started', 'step:a:started', 'step:a:completed', 'run:completed'],
    ],
    [
      'a step fails for good',
      { a: { maxAttempts: 1 }, b: { after: ['a'] } },
      {},
      () => new Error('no'),
      ['run:started', 'step:a:started', 'step:a:failed', 'run:failed'],
    ],
    [
      'a step is skipped by its condition',
      { a: { if: { x: 1 } }, b: { after: ['a'] } },
      {},
      () => 1,
      ['run:started', 'step:a:skipped', 'step:b:started', 'step:b:completed', 'run:completed'],
    ],
    [
      'a cascade skips what is below, parents first',
      // d is next to a and below b and c at once, and is still told of last.
      {
        a: { if: { x: 1 }, whenUnmet: 'skip-cascade' },
        b: { after: ['a'] },
        c: { after: ['b'] },
        d: { after: ['a', 'c'] },
      },
      {},
      () => 1,
      ['run:started', 'step:a:skipped', 'step:b:skipped', 'step:c:skipped', 'step:d:skipped', 'run:completed'],
    ],
    [
      'an exhausted handler skips its step',
      { a: { maxAttempts: 1, whenExhausted: 'skip' }, b: { after: ['a'] } },
      {},
      (task) => (task.stepSlug === 'a' ? new Error('no') : 1),
      ['run:started', 'step:a:started', 'step:a:skipped', 'step:b:started', 'step:b:completed', 'run:completed'],
    ],
    [
      'an exhausted handler skips all below',
      { a: { maxAttempts: 1, whenExhausted: 'skip-cascade' }, b: { after: ['a'] } },
      {},
      () => new Error('no'),
      ['run:started', 'step:a:started', 'step:a:skipped', 'step:b:skipped', 'run:completed'],
    ],
    [
      'maps over nothing follow each other',
      { a: { map: true }, b: { map: true, after: ['a'] }, c: { map: true, after: ['b'] } },
      [],
      () => 1,
      ['run:started', 'step:a:completed', 'step:b:completed', 'step:c:completed', 'run:completed'],
    ],
    [
      'skips converge on one step',
      {
        a: { if: { x: 1 }, whenUnmet: 'skip-cascade' },
        b: { if: { x: 1 }, whenUnmet: 'skip-cascade' },
        c: { after: ['a', 'b'] },
      },
      {},
      () => 1,
      ['run:started', 'step:a:skipped', 'step:b:skipped', 'step:c:skipped', 'run:completed'],
    ],
    [
      'a condition fails the run at its start',
      { a: { if: { x: 1 }, whenUnmet: 'fail' }, b: { after: ['a'] } },
      {},
      () => 1,
      ['run:started', 'step:a:failed', 'run:failed'],
    ],
    [
      'a condition fails the run in the middle',
      { a: {}, b: { after: ['a'], if: { a: 2 }, whenUnmet: 'fail' } },
      {},
      () => 1,
      ['run:started', 'step:a:started', 'step:a:completed', 'step:b:failed', 'run:failed'],
    ],
    [
      'an output has the wrong type for the map behind it',
      { a: {}, b: { map: true, after: ['a'] } },
      {},
      () => 'no array',
      ['run:started', 'step:a:started', 'step:a:failed', 'run:failed'],
    ],
    ['a flow has no steps', {}, {}, () => 1, ['run:started', 'run:completed']],
  ])('%s', async (_what, steps, input, handler, expected) => {
    expect(await eventsOf(steps, input, handler)).toEqual(expected)
  })

  test('a run is cancelled', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'] } })
    const [runId] = await flow.start({})
    await sql`select pgflow.cancel_run(${runId!})`
    await sql`select pgflow.cancel_run(${runId!})`
    expect(await sentEventNames(sql, runId!)).toEqual(['run:started', 'step:a:started', 'run:cancelled'])
  })

  test('a failed run is retried', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'], maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await flow.drain((task) => (task.stepSlug === 'b' ? new Error('no') : 1))
    const before = await sentEventNames(sql, runId!)
    expect(before.at(-1)).toBe('run:failed')
    await sql`select pgflow.retry_run(${runId!})`
    await flow.drain(() => 1)
    expect((await sentEventNames(sql, runId!)).slice(before.length)).toEqual([
      'run:started',
      'step:b:started',
      'step:b:completed',
      'run:completed',
    ])
  })

  test('several steps of a run fail in one call', async () => {
    const flow = await compile({ a: { maxAttempts: 1 }, b: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await flow.core.settleTasks(
      flow.workerId,
      (await flow.claim('a')).map((task) => failed(task)),
    )
    const names = await sentEventNames(sql, runId!)
    expect(names.slice(0, 3)).toEqual(['run:started', 'step:a:started', 'step:b:started'])
    expect(names.slice(3).toSorted()).toEqual(['run:failed', 'step:a:failed', 'step:b:failed'])
    expect(names.at(-1)).toBe('run:failed')
  })
})

test('reports that are repeated, late or stale send nothing', async () => {
  const flow = await compile({ a: { maxAttempts: 3 } })
  const [runId] = await flow.start({})
  const [first] = await flow.claim('a')
  await flow.core.settleTasks(flow.workerId, [failed(first!)])
  const [second] = await flow.claim('a')
  await flow.core.settleTasks(flow.workerId, [completed(first!, 'stale'), failed(first!, { permanent: true })])
  await flow.core.settleTasks(flow.workerId, [completed(second!, 'in time')])
  await flow.core.settleTasks(flow.workerId, [completed(second!, 'again'), failed(second!, { permanent: true })])
  await sql`select pgflow.complete_task(${runId!}, 'a', 0, '"late"'), pgflow.fail_task(${runId!}, 'a', 0, 'late')`
  expect(await sentEventNames(sql, runId!)).toEqual([
    'run:started',
    'step:a:started',
    'step:a:completed',
    'run:completed',
  ])
})

test('a map of 10 000 elements sends four events', async () => {
  const flow = await compile({ each: { map: true } })
  const [runId] = await flow.start(Array.from({ length: 10_000 }, (_, n) => n))
  for (;;) {
    const tasks = await flow.claim('each', 2_000)
    if (tasks.length === 0) break
    await flow.core.settleTasks(
      flow.workerId,
      tasks.map((task) => completed(task, task.input)),
    )
  }
  expect((await flow.run(runId!)).status).toBe('completed')
  expect(await sentEventNames(sql, runId!)).toEqual([
    'run:started',
    'step:each:started',
    'step:each:completed',
    'run:completed',
  ])
})

describe('the payload of', () => {
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
  const payloads = async (runId: string) =>
    Object.fromEntries((await sentEvents(sql, runId)).map(({ event, payload }) => [event, payload]))

  test('a run that completes, and of its steps', async () => {
    const flow = await compile({ a: {}, each: { map: true, after: ['a'] }, none: { map: true, after: ['each'] } })
    const [runId] = await flow.start({ x: 1 })
    await flow.drain((task) => (task.stepSlug === 'a' ? [] : null))
    const run = { run_id: runId }
    expect(await payloads(runId!)).toEqual({
      'run:started': {
        ...run,
        event_type: 'run:started',
        status: 'started',
        flow_slug: flow.slug,
        input: { x: 1 },
        remaining_steps: 3,
        started_at: time,
      },
      'step:a:started': {
        ...run,
        event_type: 'step:started',
        status: 'started',
        step_slug: 'a',
        started_at: time,
        remaining_tasks: 1,
        remaining_deps: 0,
      },
      'step:a:completed': {
        ...run,
        event_type: 'step:completed',
        status: 'completed',
        step_slug: 'a',
        output: [],
        completed_at: time,
      },
      'step:each:completed': {
        ...run,
        event_type: 'step:completed',
        status: 'completed',
        step_slug: 'each',
        output: [],
        completed_at: time,
        started_at: time,
        remaining_tasks: 0,
        remaining_deps: 0,
      },
      'step:none:completed': expect.objectContaining({ step_slug: 'none', output: [], remaining_tasks: 0 }),
      'run:completed': {
        ...run,
        event_type: 'run:completed',
        status: 'completed',
        flow_slug: flow.slug,
        output: { none: [] },
        completed_at: time,
      },
    })
  })

  test('a run that fails, and of the step that failed it', async () => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await flow.drain(() => new Error('broken'))
    const { 'step:a:failed': step, 'run:failed': run } = await payloads(runId!)
    expect(step).toEqual({
      event_type: 'step:failed',
      run_id: runId,
      status: 'failed',
      step_slug: 'a',
      error_message: 'broken',
      failed_at: time,
    })
    expect(run).toEqual({
      event_type: 'run:failed',
      run_id: runId,
      status: 'failed',
      flow_slug: flow.slug,
      error_message: 'broken',
      failed_at: time,
    })
  })

  test('a run that a condition fails says so', async () => {
    const flow = await compile({ a: { if: { x: 1 }, whenUnmet: 'fail' } })
    const [runId] = await flow.start({})
    const { 'step:a:failed': step, 'run:failed': run } = await payloads(runId!)
    expect([step!.error_message, run!.error_message]).toEqual(['Condition not met', 'Condition not met'])
  })

  test('a type violation begins with [TYPE_VIOLATION]', async () => {
    const flow = await compile({ a: {}, b: { map: true, after: ['a'] } })
    const [runId] = await flow.start({})
    await flow.drain(() => 'text')
    const { 'step:a:failed': step } = await payloads(runId!)
    expect(step!.error_message).toMatch(/^\[TYPE_VIOLATION\]/)
  })

  test('skipped steps names the reason', async () => {
    const flow = await compile({
      a: { if: { x: 1 }, whenUnmet: 'skip-cascade' },
      b: { after: ['a'] },
      c: { maxAttempts: 1, whenExhausted: 'skip' },
    })
    const [runId] = await flow.start({})
    await flow.drain(() => new Error('broken'))
    const skipped = (step_slug: string, rest: object) => ({
      event_type: 'step:skipped',
      run_id: runId,
      status: 'skipped',
      step_slug,
      skipped_at: time,
      ...rest,
    })
    expect(await payloads(runId!)).toMatchObject({
      'step:a:skipped': {},
      'step:b:skipped': {},
      'step:c:skipped': {},
    })
    const all = await payloads(runId!)
    expect(all['step:a:skipped']).toEqual(skipped('a', { skip_reason: 'condition_unmet', flow_slug: flow.slug }))
    expect(all['step:b:skipped']).toEqual(skipped('b', { skip_reason: 'dependency_skipped', flow_slug: flow.slug }))
    expect(all['step:c:skipped']).toEqual(skipped('c', { skip_reason: 'handler_failed', error_message: 'broken' }))
  })

  test('a cancelled run carries the reason', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await sql`select pgflow.cancel_run(${runId!}, 'not needed')`
    const { 'run:cancelled': run } = await payloads(runId!)
    expect(run).toEqual({
      event_type: 'run:cancelled',
      run_id: runId,
      status: 'cancelled',
      flow_slug: flow.slug,
      cancelled_at: time,
      reason: 'not needed',
    })
  })

  test('a retried run counts the steps that are left', async () => {
    const flow = await compile({ a: {}, b: { after: ['a'], maxAttempts: 1 }, c: { after: ['b'] } })
    const [runId] = await flow.start({})
    await flow.drain((task) => (task.stepSlug === 'b' ? new Error('no') : 1))
    await sql`select pgflow.retry_run(${runId!})`
    const events = await sentEvents(sql, runId!)
    expect(events.filter(({ event }) => event === 'run:started').map(({ payload }) => payload.remaining_steps)).toEqual(
      [3, 2],
    )
    expect(events.at(-1)).toMatchObject({ event: 'step:b:started', payload: { remaining_tasks: 1 } })
  })

  test('everything over the broadcast limit leaves its data out, names what, and touches no run', async () => {
    const flow = await compile({ a: {} })
    const big = 'x'.repeat(2_000_000)
    const [runId] = await flow.start({ big })
    await flow.drain(() => big)
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { a: big } })
    const all = await payloads(runId!)
    const rest = { run_id: runId, flow_slug: flow.slug }
    expect(all['run:started']).toEqual({
      ...rest,
      event_type: 'run:started',
      status: 'started',
      remaining_steps: 1,
      started_at: time,
      omitted: ['input'],
    })
    expect(all['step:a:completed']).toMatchObject({ step_slug: 'a', omitted: ['output'] })
    expect(all['step:a:completed']).not.toHaveProperty('output')
    expect(all['run:completed']).toEqual({
      ...rest,
      event_type: 'run:completed',
      status: 'completed',
      completed_at: time,
      omitted: ['output'],
    })
  })

  test('an error message over the limit is cut', async () => {
    const flow = await compile({ a: { maxAttempts: 1 } })
    const [runId] = await flow.start({})
    await flow.drain(() => new Error('y'.repeat(1_000_000)))
    const { 'run:failed': run } = await payloads(runId!)
    expect(run).toMatchObject({ error_message: 'y'.repeat(10_000), omitted: [] })
  })
})

describe('a channel is', () => {
  test.each([
    ['private', true],
    ['public', false],
  ] as const)('%s where the setting events_channel says so', async (channel, isPrivate) => {
    await sql`select pgflow.set_setting('events_channel', ${channel})`
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await sql`select pgflow.cancel_run(${runId!})`
    const events = await sentEvents(sql, runId!)
    expect(events.map(({ topic, private: of }) => [topic, of])).toEqual(
      ['run:started', 'step:a:started', 'run:cancelled'].map(() => [`pgflow:run:${runId}`, isPrivate]),
    )
    await sql`select pgflow.set_setting('events_channel', null)`
  })

  test.each([
    ['watched', 'private', 'private'],
    ['all', 'public', 'public'],
    ['off', 'public', 'off'],
  ])('told with the state of a run: with events %s and channels %s it says %s', async (events, channel, expected) => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    const undo = new Error('undo')
    await sql
      .begin(async (tx) => {
        await tx`select pgflow.set_setting('events', ${events}), pgflow.set_setting('events_channel', ${channel})`
        const [row] = await tx`select pgflow.get_run_with_states(${runId!}) as found`
        expect(row!.found.events).toBe(expected)
        throw undo
      })
      .catch((error: unknown) => expect(error).toBe(undo))
  })

  test('private without a setting', async () => {
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    expect((await sentEvents(sql, runId!)).every((event) => event.private)).toBe(true)
  })
})

test('a transaction that is rolled back sends nothing', async () => {
  const flow = await compile({ a: {} })
  const runId = randomUUID()
  const undo = new Error('undo')
  await sql
    .begin(async (tx) => {
      await tx`select pgflow.start_flow(${flow.slug}, '{}', ${runId})`
      expect(await sentEventNames(tx as unknown as typeof sql, runId)).toHaveLength(2)
      throw undo
    })
    .catch((error: unknown) => expect(error).toBe(undo))
  expect(await sentEventNames(sql, runId)).toEqual([])
})

describe('which runs send events:', () => {
  const during = async (mode: 'all' | 'watched' | 'off' | null, work: () => Promise<void>) => {
    await sql`select pgflow.set_setting('events', ${mode})`
    await work().finally(() => sql`select pgflow.set_setting('events', 'all')`)
  }

  test('none where events is off, watched or not', async () => {
    const flow = await compile({ a: {} })
    await during('off', async () => {
      const runId = randomUUID()
      await sql`select pgflow.start_flow_with_states(${flow.slug}, '{}', ${runId})`
      await sql`select pgflow.cancel_run(${runId})`
      expect(await sentEventNames(sql, runId)).toEqual([])
      expect(await sql`select from pgflow.watched_runs where run_id = ${runId}`).toHaveLength(0)
    })
  })

  test('only those that somebody looks at, which is the default', async () => {
    const flow = await compile({ a: {} })
    await during(null, async () => {
      const [unseen, seen] = await flow.start(1, 2)
      await sql`select pgflow.get_run_with_states(${seen!})`
      await flow.drain(() => 1)
      expect(await sentEventNames(sql, unseen!)).toEqual([])
      expect(await sentEventNames(sql, seen!)).toEqual(['step:a:completed', 'run:completed'])
    })
  })

  test('all of a run that its starter watches from the start', async () => {
    const flow = await compile({ a: {} })
    await during('watched', async () => {
      const runId = randomUUID()
      await sql`select pgflow.start_flow_with_states(${flow.slug}, '{}', ${runId})`
      await sql`select pgflow.cancel_run(${runId})`
      expect(await sentEventNames(sql, runId)).toEqual(['run:started', 'step:a:started', 'run:cancelled'])
    })
  })

  test('all where a parameter of the session says what is not allowed, and so nothing', async () => {
    const flow = await compile({ a: {} })
    const runId = randomUUID()
    const client = database.connect({ settings: { 'pgflow.events': 'none' } })
    await client`select pgflow.start_flow(${flow.slug}, '{}', ${runId})`.finally(() => client.end())
    expect(await sentEventNames(sql, runId)).toEqual(['run:started', 'step:a:started'])
  })

  test('nobody is told any longer when the watch is over', async () => {
    const flow = await compile({ a: {} })
    await during('watched', async () => {
      const [runId] = await flow.start({})
      await sql`select pgflow.get_run_with_states(${runId!})`
      await sql`update pgflow.watched_runs set watched_until = now() - interval '1 second'`
      await sql`select pgflow.cancel_run(${runId!})`
      expect(await sentEventNames(sql, runId!)).toEqual([])
    })
  })
})

describe('a watch', () => {
  const until = async (runId: string) => {
    const [row] = await sql<{ seconds: number }[]>`
      select extract(epoch from watched_until - now())::float8 as seconds from pgflow.watched_runs where run_id = ${runId}`
    return row?.seconds
  }
  const watched = async (work: (runId: string) => Promise<void>) => {
    await sql`select pgflow.set_setting('events', 'watched')`
    const flow = await compile({ a: {} })
    const [runId] = await flow.start({})
    await sql`select pgflow.get_run_with_states(${runId!})`
    await work(runId!).finally(() => sql`select pgflow.set_setting('events', 'all')`)
  }

  test('lasts for five minutes', async () => {
    await watched(async (runId) => expect(await until(runId)).toSatisfy((left: number) => left > 290 && left <= 300))
  })

  test('is not written again within a minute, and is prolonged after it', async () => {
    await watched(async (runId) => {
      const version = async () =>
        (await sql`select xmin::text from pgflow.watched_runs where run_id = ${runId}`)[0]!.xmin
      const first = await version()
      await sql`update pgflow.watched_runs set watched_until = watched_until - interval '50 seconds' where run_id = ${runId}`
      const aged = await version()
      await sql`select pgflow.get_run_with_states(${runId})`
      expect(await version()).toBe(aged)
      expect(aged).not.toBe(first)
      await sql`update pgflow.watched_runs set watched_until = watched_until - interval '20 seconds' where run_id = ${runId}`
      await sql`select pgflow.get_run_with_states(${runId})`
      expect(await until(runId)).toBeGreaterThan(290)
    })
  })

  test('that is over is pruned by the recovery, which waits for nobody', async () => {
    await watched(async (runId) => {
      const other = randomUUID()
      await sql`insert into pgflow.watched_runs values (${other}, now() - interval '1 second')`
      await sql`update pgflow.watched_runs set watched_until = now() - interval '1 second'`
      const viewer = database.connect()
      const impatient = database.connect({ settings: { lock_timeout: '100ms' } })
      await viewer.begin(async (tx) => {
        await tx`select from pgflow.watched_runs where run_id = ${runId} for update`
        await impatient`select pgflow.requeue_stalled_tasks()`
      })
      expect(await sql`select run_id from pgflow.watched_runs`).toEqual([{ run_id: runId }])
      await sql`select pgflow.requeue_stalled_tasks()`
      expect(await sql`select from pgflow.watched_runs`).toHaveLength(0)
      await Promise.all([viewer.end(), impatient.end()])
    })
  })

  test('is not written by a read-only transaction, which is still answered', async () => {
    await watched(async (runId) => {
      await sql`delete from pgflow.watched_runs`
      await sql.begin('read only', async (tx) => {
        const [row] = await tx`select pgflow.get_run_with_states(${runId}) as found`
        expect(row!.found.run.run_id).toBe(runId)
      })
      expect(await sql`select from pgflow.watched_runs`).toHaveLength(0)
    })
  })
})

describe('a realtime.send that', () => {
  test.each([
    [
      'raises',
      `create or replace function realtime.send(payload jsonb, event text, topic text, private boolean default true)
       returns void language plpgsql as $$ begin raise exception 'no partition of relation "messages" found'; end $$`,
      'could not be sent: no partition',
    ],
    ['is missing', 'drop function realtime.send(jsonb, text, text, boolean)', 'does not exist'],
    ['has no table', 'drop table realtime.messages', 'ErrorSendingBroadcastMessage'],
  ])('%s never touches the run and leaves a warning', async (_what, damage, sentence) => {
    const warnings: string[] = []
    const other = await brokenDatabase(damage)
    const watching = postgres(other.url, {
      max: 1,
      onnotice: (notice) => warnings.push(`${notice.severity}: ${notice.message}`),
    })
    try {
      await other.sql`select pgflow.set_setting('events', 'all')`
      const flow = await CompiledFlow.compileShape(other.sql, 'goeson', shape({ a: {}, b: { after: ['a'] } }), 'flow')
      const [run] = await watching`select run_id from pgflow.start_flow('goeson', '{}')`
      const [toCancel] = await watching`select run_id from pgflow.start_flow('goeson', '{}')`
      await watching`select pgflow.cancel_run(${toCancel!.run_id})`
      await flow.drain(() => 1)
      expect(await flow.run(run!.run_id)).toMatchObject({ status: 'completed', output: { b: 1 } })
      expect(await flow.run(toCancel!.run_id)).toMatchObject({ status: 'cancelled' })
      expect(warnings).toContainEqual(expect.stringMatching(new RegExp(`^WARNING: .*${sentence}`)))
      expect(warnings.some((warning) => warning.includes('An event of run'))).toBe(!sentence.startsWith('Error'))
      await expectAllWell(other.sql)
    } finally {
      await watching.end()
      await other.dispose()
    }
  })

  const spare = [testDatabase(), testDatabase(), testDatabase()]
  async function brokenDatabase(damage: string) {
    const other = await spare.pop()!
    const admin = other.as('supabase_admin', { connections: 1 })
    await admin.unsafe(damage)
    await admin.end()
    return other
  }
})

test('after random runs the events of each run are its transitions, and all is well', async () => {
  await recordEvents(randomDatabase)
  const random = randomFrom(20261129)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  for (let round = 0; round < 40; round++) {
    const steps = shape(randomSteps(random), { baseDelay: 0 })
    const flow = await CompiledFlow.compileShape(randomDatabase.sql, `random${round}`, steps, 'flow')
    const runIds = await flow.start([1, 2], [])
    for (let turn = 0; turn < 3; turn++) {
      for (const runId of runIds) if (random() < 0.2) await randomDatabase.sql`select pgflow.cancel_run(${runId})`
      await flow.drain(() => {
        if (random() < 0.15) return new Error('random')
        // A step that feeds a map is sometimes no array: a type violation.
        return random() < 0.9 ? pick([[], [1], [1, 2, null]]) : pick([0, false, 'text', null])
      })
      for (const runId of runIds) if (random() < 0.7) await randomDatabase.sql`select pgflow.retry_run(${runId})`
    }
  }
  await expectAllWell(randomDatabase.sql, { events: true })
  const outcomes = await randomDatabase.sql<{ of: string }[]>`
    select distinct 'step ' || status as of from pgflow.step_states
    union select distinct 'run ' || status from pgflow.runs order by 1`
  expect(outcomes.map((row) => row.of)).toEqual([
    'run cancelled',
    'run completed',
    'run failed',
    'run started',
    'step completed',
    'step created',
    'step failed',
    'step skipped',
    'step started',
  ])
})

function randomSteps(random: () => number): Record<string, StepSketch> {
  const steps: Record<string, StepSketch> = {}
  const modes = ['fail', 'skip', 'skip-cascade'] as const
  const mode = () => modes[Math.floor(random() * 3)]!
  const size = 2 + Math.floor(random() * 6)
  for (let index = 0; index < size; index++) {
    const before = Object.keys(steps)
    const isMap = random() < 0.35
    const parents = before.filter(() => random() < 0.4)
    const after = isMap ? parents.slice(0, 1) : parents
    steps[`s${index}`] = {
      map: isMap,
      after,
      maxAttempts: 1 + Math.floor(random() * 2),
      whenExhausted: mode(),
      whenUnmet: mode(),
      ...(after.length > 0 && random() < 0.25 ? { if: { [after[0]!]: [1] } } : {}),
    }
  }
  return steps
}

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
