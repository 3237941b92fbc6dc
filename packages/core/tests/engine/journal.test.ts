import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { EngineCalls } from '../support/engine-calls.ts'

const database = await testDatabase()
const engine = new EngineCalls(database.as('service_role'))

describe('a run that was never queued', () => {
  test('starts once, is leased, executed and completed, with one event for each step of the way', async () => {
    const run_id = randomUUID()
    await engine.start(run_id, { input: { order: 7 } })
    await engine.start(run_id, { input: { order: 8 } })
    expect(await engine.run(run_id)).toMatchObject({
      ...{ status: 'running', claim_state: 'running', leased_by: null, claim_attempts: 0, input: { order: 7 } },
      started_at: expect.any(Date),
    })
    const claim = { run_id, runner_id: 'r1', claim_attempts: 1 }
    expect(await engine.scalar('write_lease', { run_id, runner_id: 'r1', ttl_ms: 30_000 })).toBe(1)
    await engine.call('on_node_start', { ...claim, node_id: 'a', attempt: 1, input: [0, ''] })
    await engine.call('on_node_retry', { ...claim, node_id: 'a', attempt: 1, error: { message: 'no' }, delay_ms: 1500 })
    await engine.call('on_node_start', { ...claim, node_id: 'a', attempt: 2 })
    await engine.call('on_node_complete', { ...claim, node_id: 'a', output: 'text', attempt: 2, duration_ms: 5 })
    await engine.call('on_node_skip', { ...claim, node_id: 'b', reason: 'condition_unmet' })
    await engine.call('on_node_error', { ...claim, node_id: 'c[3]', attempt: 1, error: { message: 'gone' } })
    await engine.call('on_run_complete', { ...claim, output: null, duration_ms: 12 })
    await engine.call('clear_lease', claim)
    expect(
      (await engine.events(run_id)).map(({ event_type, node_id, payload_json }) => [event_type, node_id, payload_json]),
    ).toEqual([
      ['run_started', null, null],
      ['node_start', 'a', { attempt: 1, input: [0, ''] }],
      [
        'node_retry',
        'a',
        { attempt: 1, error: { message: 'no' }, delay_ms: 1500, due_at: expect.stringMatching(/^\d{4}-.*\d{3}Z$/) },
      ],
      ['node_start', 'a', { attempt: 2 }],
      ['node_complete', 'a', { output: 'text', attempt: 2, duration_ms: 5 }],
      ['node_skip', 'b', { reason: 'condition_unmet' }],
      ['node_error', 'c[3]', { attempt: 1, error: { message: 'gone' } }],
      ['run_completed', null, { duration_ms: 12 }],
    ])
    expect(await engine.run(run_id)).toMatchObject({
      ...{
        status: 'success',
        claim_state: 'complete',
        output: null,
        duration_ms: 12,
        leased_by: null,
        lease_until: null,
      },
      completed_at: expect.any(Date),
    })
    const [kept] =
      await database.sql`select output is not null as is_kept from starflow.workflow_runs where id = ${run_id}`
    expect(kept!.is_kept, 'a null output is JSON null').toBe(true)
  })
})
