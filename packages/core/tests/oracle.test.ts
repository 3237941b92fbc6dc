import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed, failed } from './support/compiled-flow.ts'
import { recordEvents } from './support/events.ts'
import { expectAllWell } from './support/oracle.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
await recordEvents(database)

const flow = await CompiledFlow.compileShape(
  sql,
  'watchful',
  shape({ list: { maxAttempts: 2, baseDelay: 0 }, each: { map: true, after: ['list'] }, last: { after: ['each'] } }),
)
const [done, failing, open] = await flow.start(1, 2, 3)
const listing = await flow.claim('list')
await flow.core.settleTasks(
  flow.workerId,
  listing.map((task) => (task.runId === failing ? failed(task, { permanent: true }) : completed(task, [1, null]))),
)
const elements = await flow.claim('each')
await flow.core.settleTasks(
  flow.workerId,
  elements.filter((task) => task.runId === done || task.taskIndex === 0).map((task) => completed(task, task.input)),
)
await flow.core.settleTasks(
  flow.workerId,
  (await flow.claim('last')).map((task) => completed(task, null)),
)
const all = { events: true }

test('finds nothing wrong with runs that ended, failed or are under way', async () => {
  expect([await flow.run(done!), await flow.run(failing!), await flow.run(open!)]).toMatchObject([
    { status: 'completed' },
    { status: 'failed' },
    { status: 'started' },
  ])
  await expectAllWell(sql, all)
})

/** Each damage is undone afterwards, so that every test begins with runs that are well. */
test.each<[string, string, string]>([
  ['a lost message', `delete from pgmq.q_watchful__each`, 'no other'],
  ['a message of nobody', `select pgmq.send('watchful__last', '{}')`, 'no other'],
  [
    'a run that forgot to end',
    `update pgflow.step_states set status = 'created', remaining_tasks = null, output = null, completed_at = null, initial_tasks = null where step_slug = 'list' and status = 'completed'`,
    'next actor',
  ],
  [
    'an open task of a run that is over',
    `update pgflow.step_tasks set status = 'started', completed_at = null, output = null where step_slug = 'last'`,
    'no open task',
  ],
  [
    'an output that no task gave',
    `update pgflow.step_states set output = '[7]' where step_slug = 'each' and status = 'completed'`,
    'exactly one accepted outcome',
  ],
  ['an attempt without an end', `update pgflow.step_tasks set attempts_count = 2 where step_slug = 'last'`, 'stale'],
  [
    'an attempt that failed and was accepted',
    `insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, reason) select run_id, step_slug, task_index, 1, 'failed' from pgflow.step_tasks where step_slug = 'last'`,
    'stale',
  ],
  ['a counter that is wrong', `update pgflow.runs set remaining_steps = 1 where status = 'started'`, 'next actor'],
  [
    'a counter of a run that is over',
    `update pgflow.runs set remaining_steps = 1 where status = 'completed'`,
    'counted down',
  ],
  ['a missing event', `delete from realtime.messages where event = 'step:list:failed'`, 'transitions'],
  [
    'an event that came twice',
    `insert into realtime.messages (topic, extension, event, payload) select topic, extension, event, payload from realtime.messages where event = 'run:completed'`,
    'transitions',
  ],
])('notices %s', async (_what, damage, sentence) => {
  const undo = new Error('undo')
  await sql
    .begin(async (tx) => {
      await tx.unsafe(damage)
      await expect(expectAllWell(tx as unknown as typeof sql, all)).rejects.toThrow(sentence)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
})

test('notices an outcome that was accepted twice, and one that nobody reported', async () => {
  const completions = await sql<{ name: string }[]>`
    select concat_ws('/', run_id, step_slug, task_index) as name from pgflow.step_tasks where status = 'completed'`
  const accepted = completions.map((row) => row.name)
  await expectAllWell(sql, { accepted })
  await expect(expectAllWell(sql, { accepted: [...accepted, accepted[0]!] })).rejects.toThrow('accepted twice')
  await expect(expectAllWell(sql, { accepted: accepted.slice(1) })).rejects.toThrow('no accepted report')
})

test('notices a handler that ran more often than it was counted, or less often where no connection was cut', async () => {
  const name = `${done}/last/0`
  await expectAllWell(sql, { handlerStarts: new Map([[name, 1]]) })
  await expect(expectAllWell(sql, { handlerStarts: new Map([[name, 2]]) })).rejects.toThrow('more often')
  const counted = await sql<{ name: string; counted: number }[]>`
    select concat_ws('/', run_id, step_slug, task_index) as name, attempts_count - attempts_forgiven as counted from pgflow.step_tasks`
  const exact = new Map(counted.map((row) => [row.name, row.counted]))
  await expectAllWell(sql, { handlerStarts: exact, noConnectionWasCut: true })
  await expect(
    expectAllWell(sql, { handlerStarts: new Map([...exact, [name, 0]]), noConnectionWasCut: true }),
  ).rejects.toThrow('exactly as often')
})

test('takes an attempt that was forgiven for none, which no handler may have had', async () => {
  const [run] = await flow.start(4)
  const [unstarted] = await flow.claim('list')
  await flow.core.releaseTasks(flow.workerId, [{ ...unstarted!, started: false }])
  const name = `${run}/list/0`
  await expectAllWell(sql, { handlerStarts: new Map() })
  await expect(expectAllWell(sql, { handlerStarts: new Map([[name, 1]]) })).rejects.toThrow('more often')
})
