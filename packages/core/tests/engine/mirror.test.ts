import { expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { EngineCalls } from '../support/engine-calls.ts'

const database = await testDatabase()
const engine = new EngineCalls(database.as('service_role'))

const outbox = async (runId: string) =>
  await database.sql<{ kind: string; payload: Record<string, unknown>; applied_at: Date | null }[]>`
    select kind, payload, applied_at from starflow.mirror_outbox where run_id = ${runId} order by id`

async function wholeRun(): Promise<string> {
  const claim = await engine.leased('r1', { input: { secret: 'in' } })
  await engine.call('on_node_complete', { ...claim, node_id: 'a', output: { secret: 'out' } })
  await engine.call('session_set', { ...claim, session_id: 's', key: 'k', value: 7 })
  await engine.call('heartbeat', { runner_id: 'r1', ttl_ms: 30_000, capacity: 1, claims: [claim] })
  await engine.call('on_run_complete', { ...claim, output: { secret: 'end' }, duration_ms: 1 })
  return claim.run_id
}

test('nothing is mirrored while nobody has asked for it', async () => {
  expect(await outbox(await wholeRun())).toEqual([])
})

test('every write of a run, event and session variable is in the outbox, in order; heartbeats are not', async () => {
  await engine.call('set_mirroring', { is_on: true })
  const rows = await outbox(await wholeRun())
  expect(
    rows.map(({ kind, payload }) => [
      kind,
      payload.status ?? payload.event_type ?? payload.is_deleted ?? payload.value_json,
    ]),
  ).toEqual([
    ['run', 'running'],
    ['event', 'run_started'],
    ['run', 'running'],
    ['event', 'node_complete'],
    ['session_var', 7],
    ['run', 'success'],
    ['session_var', true],
    ['event', 'run_completed'],
  ])
  expect(JSON.stringify(rows), 'inputs and outputs stay in the cold tier').not.toContain('secret')
  expect(rows.every(({ applied_at }) => applied_at === null)).toBe(true)
})

test('what is rolled back is not mirrored', async () => {
  const claim = await engine.leased('r1')
  const before = await outbox(claim.run_id)
  await engine.sql
    .begin(async (sql) => {
      await new EngineCalls(sql as never).call('on_node_start', { ...claim, node_id: 'a', attempt: 1 })
      throw new Error('rolled back')
    })
    .catch(() => {})
  expect(await outbox(claim.run_id)).toEqual(before)
})
