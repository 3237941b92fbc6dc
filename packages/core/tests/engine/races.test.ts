import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { EngineActor } from '../support/engine-actor.ts'
import { type Claim, EngineCalls } from '../support/engine-calls.ts'
import { refusal } from '../support/refusal.ts'

const database = await testDatabase()
const engine = new EngineCalls(database.sql)
const first = new EngineActor(database)
const second = new EngineActor(database)

async function expireLease({ run_id }: Claim): Promise<void> {
  await database.sql`update starflow.workflow_runs set lease_until = now() - interval '1 second' where id = ${run_id}`
}

/** A run that waits for `approve`, given up by its runner. */
async function pausedRun(dueAt?: string): Promise<string> {
  const claim = await engine.leased('r1')
  await engine.call('on_run_paused', { ...claim, node_ids: ['approve'] })
  await engine.call('open_wait', { ...claim, node_id: 'approve' })
  await engine.call('clear_lease', { ...claim })
  if (dueAt !== undefined) {
    await database.sql`update starflow.workflow_waits set due_at = ${dueAt} where run_id = ${claim.run_id}`
  }
  return claim.run_id
}

const beat = (calls: EngineCalls, claim: Claim) =>
  calls.call('heartbeat', { runner_id: claim.runner_id, ttl_ms: 30_000, capacity: 4, claims: [claim] })
const complete = (calls: EngineCalls, claim: Claim) =>
  calls.call('on_run_complete', { ...claim, output: 1, duration_ms: 1 })
const resume = (calls: EngineCalls, run_id: string, payload: string) =>
  calls.scalar<string>('resume_wait', { run_id, node_id: 'approve', payload })

test('of 200 queued runs, each is claimed by exactly one of 8 runners that race for them', async () => {
  const definitionId = await engine.definition('raced')
  const queued = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      engine.enqueue(definitionId, { template_id: 'raced', runner_pool: n % 3 === 0 ? 'gpu' : undefined }),
    ),
  )
  const runners = Array.from({ length: 8 }, (_, n) => `runner-${n}`)
  const claims = await Promise.all(
    runners.map(async (runnerId) => {
      const calls = new EngineCalls(database.connect())
      const taken: Claim[] = []
      for (;;) {
        const claim = await calls.claim(runnerId, definitionId, { runner_pool: 'gpu' })
        if (claim === undefined) return taken
        taken.push(claim)
      }
    }),
  )
  expect(
    claims
      .flat()
      .map(({ run_id }) => run_id)
      .sort(),
  ).toEqual([...queued].sort())
  const rows = await database.sql<{ id: string; leased_by: string; claim_attempts: number }[]>`
    select id, leased_by, claim_attempts from starflow.workflow_runs where template_id = 'raced'`
  expect(rows.map((row) => `${row.id} ${row.leased_by} ${row.claim_attempts}`).sort()).toEqual(
    claims
      .flat()
      .map((claim) => `${claim.run_id} ${claim.runner_id} 1`)
      .sort(),
  )
})

describe('a zombie', () => {
  test('is refused when its run went to another runner, and changes nothing', async () => {
    const definitionId = await engine.definition()
    const runId = await engine.enqueue(definitionId)
    const zombie = (await engine.claim('r1', definitionId))!
    await engine.start(runId, zombie as never)
    await expireLease(zombie)
    await engine.sweep()
    const heir = (await engine.claim('r2', definitionId))!
    const before = [await engine.run(runId), await engine.events(runId)]
    for (const write of [
      () => engine.call('on_node_complete', { ...zombie, node_id: 'a', output: 1 }),
      () => engine.call('on_run_paused', { ...zombie, node_ids: ['a'] }),
      () => engine.call('session_set', { ...zombie, session_id: 's', key: 'k', value: 1 }),
      () => complete(engine, zombie),
      () => engine.call('clear_lease', { ...zombie }),
    ]) {
      expect(await refusal(write())).toMatchObject({
        code: 'SF801',
        message: `Runner "r1" no longer holds run ${runId}.`,
        detail: expect.stringContaining('"r2"'),
      })
    }
    expect([await engine.run(runId), await engine.events(runId)]).toEqual(before)
    await complete(engine, heir)
    expect(await engine.run(runId)).toMatchObject({ status: 'success' })
  })

  test('whose write waits for the sweep that takes its run away is refused', async () => {
    const claim = await engine.leased('r1')
    await expireLease(claim)
    const sweep = await first.hold((calls) => calls.sweep())
    const write = await second.waits((calls) => calls.call('on_node_complete', { ...claim, node_id: 'a', output: 1 }))
    await sweep.commit()
    expect(sweep.result).toEqual([{ run_id: claim.run_id, outcome: 'requeued' }])
    expect(await refusal(write.end)).toMatchObject({ code: 'SF801' })
    expect(await engine.history(claim.run_id)).toEqual(['run_started', 'runner_lost'])
  })

  test('whose write is in time keeps its run: the sweep passes over what is being written', async () => {
    const claim = await engine.leased('r1')
    await expireLease(claim)
    const write = await first.hold((calls) => calls.call('on_node_complete', { ...claim, node_id: 'a', output: 1 }))
    expect(await engine.sweep()).toEqual([])
    await write.commit()
    expect(await engine.history(claim.run_id)).toEqual(['run_started', 'node_complete a'])
    await complete(engine, claim)
  })
})

describe('a heartbeat', () => {
  test('that came before the sweep keeps the run', async () => {
    const claim = await engine.leased('r1')
    await expireLease(claim)
    const heartbeat = await first.hold((calls) => beat(calls, claim))
    expect(await engine.sweep()).toEqual([])
    await heartbeat.commit()
    expect(heartbeat.result).toEqual([])
    expect(await engine.sweep()).toEqual([])
    await complete(engine, claim)
  })

  test('that waits for the sweep learns that its run is lost, and keeps its others', async () => {
    const lost = await engine.leased('r1')
    const kept = await engine.leased('r1')
    await expireLease(lost)
    const sweep = await first.hold((calls) => calls.sweep())
    const heartbeat = await second.waits((calls) =>
      calls.call('heartbeat', { runner_id: 'r1', ttl_ms: 60_000, capacity: 4, claims: [lost, kept] }),
    )
    await sweep.commit()
    expect(await heartbeat.end).toEqual([{ run_id: lost.run_id, claim_attempts: 1 }])
    expect((await engine.run(lost.run_id)).lease_until).toBeNull()
    expect((await engine.run(kept.run_id)).lease_until!.getTime()).toBeGreaterThan(Date.now() + 31_000)
  })

  test('of one runner twice at once waits instead of deadlocking, whatever the order of its claims', async () => {
    const claims = [await engine.leased('r9'), await engine.leased('r9'), await engine.leased('r9')]
    const held = await first.hold((calls) =>
      calls.call('heartbeat', { runner_id: 'r9', ttl_ms: 30_000, capacity: 4, claims }),
    )
    const other = await second.waits((calls) =>
      calls.call('heartbeat', { runner_id: 'r9', ttl_ms: 30_000, capacity: 4, claims: claims.toReversed() }),
    )
    await held.commit()
    expect(await other.end).toEqual([])
  })
})

describe('cancelling', () => {
  test('a run that is just completing comes too late', async () => {
    const claim = await engine.leased('r1')
    const completion = await first.hold((calls) => complete(calls, claim))
    const cancel = await second.waits((calls) => calls.scalar('cancel_run', { run_id: claim.run_id, reason: 'late' }))
    await completion.commit()
    expect(await cancel.end).toBe(false)
    expect(await engine.run(claim.run_id)).toMatchObject({ status: 'success', cancelled_at: null })
  })

  test('before a run completes refuses the completion', async () => {
    const claim = await engine.leased('r1')
    const cancel = await first.hold((calls) => calls.scalar('cancel_run', { run_id: claim.run_id, reason: 'no' }))
    const completion = await second.waits((calls) => complete(calls, claim))
    await cancel.commit()
    expect(cancel.result).toBe(true)
    expect(await refusal(completion.end)).toMatchObject({ code: 'SF801' })
    expect(await engine.run(claim.run_id)).toMatchObject({ status: 'cancelled', output: null, leased_by: null })
    expect(await engine.history(claim.run_id)).toEqual(['run_started', 'run_cancelled'])
  })
})

describe('resuming a wait', () => {
  test('that the sweep is timing out comes too late', async () => {
    const runId = await pausedRun('2020-01-01')
    const sweep = await first.hold((calls) => calls.sweep())
    const late = await second.waits((calls) => resume(calls, runId, 'yes'))
    await sweep.commit()
    expect(sweep.result).toEqual([{ run_id: runId, outcome: 'wait_over' }])
    expect(await late.end).toBe('timed_out')
    expect(await engine.call('read_waits', { run_id: runId })).toMatchObject([
      { status: 'timed_out', payload_json: null },
    ])
  })

  test('just before its time is accepted, and no sweep takes it back', async () => {
    await engine.sql`select pgflow.set_setting('test_clock', 'on')`
    const runId = await pausedRun('2026-01-01T12:00:00Z')
    const inTime = new EngineActor(database, { 'pgflow.test_now': '2026-01-01T11:59:59Z' })
    const after = new EngineActor(database, { 'pgflow.test_now': '2026-01-01T12:00:01Z' })
    const resumption = await inTime.hold((calls) => resume(calls, runId, 'yes'))
    expect(await after.calls.sweep()).toEqual([])
    await resumption.commit()
    expect(resumption.result).toBe('accepted')
    expect(await after.calls.sweep()).toEqual([])
    expect(await engine.call('read_waits', { run_id: runId })).toMatchObject([
      { status: 'resumed', payload_json: 'yes' },
    ])
    expect(await engine.run(runId)).toMatchObject({ status: 'paused', claim_state: 'queued' })
  })

  test('twice at once is accepted once', async () => {
    const runId = await pausedRun()
    const one = await first.hold((calls) => resume(calls, runId, 'one'))
    const two = await second.waits((calls) => resume(calls, runId, 'two'))
    await one.commit()
    expect([one.result, await two.end]).toEqual(['accepted', 'already_resumed'])
  })

  test('while its runner gives the run up queues it, whichever comes first', async () => {
    const claim = await engine.leased('r1')
    await engine.call('on_run_paused', { ...claim, node_ids: ['approve'] })
    await engine.call('open_wait', { ...claim, node_id: 'approve' })
    const giveUp = await first.hold((calls) => calls.call('clear_lease', { ...claim }))
    const after = await second.waits((calls) => resume(calls, claim.run_id, 'yes'))
    await giveUp.commit()
    expect(await after.end).toBe('accepted')
    expect(await engine.run(claim.run_id)).toMatchObject({ status: 'paused', claim_state: 'queued' })

    const other = await engine.leased('r1')
    await engine.call('on_run_paused', { ...other, node_ids: ['approve'] })
    await engine.call('open_wait', { ...other, node_id: 'approve' })
    const before = await first.hold((calls) => resume(calls, other.run_id, 'yes'))
    const lateGiveUp = await second.waits((calls) => calls.call('clear_lease', { ...other }))
    await before.commit()
    await lateGiveUp.end
    expect(await engine.run(other.run_id)).toMatchObject({ status: 'paused', claim_state: 'queued', leased_by: null })
  })
})

describe('a resume and', () => {
  const cancel = (calls: EngineCalls, run_id: string) => calls.call('cancel_run', { run_id, reason: 'no longer' })

  test('a cancellation that comes first: the resume is told that the run has ended', async () => {
    const runId = await pausedRun()
    const cancelling = await first.hold((calls) => cancel(calls, runId))
    const resuming = await second.waits((calls) => resume(calls, runId, 'yes'))
    await cancelling.commit()
    expect(await resuming.end).toBe('run_ended')
    expect(await engine.run(runId)).toMatchObject({ status: 'cancelled', claim_state: 'complete' })
  })

  test('a cancellation that comes second: the run that it has queued ends, and nobody claims it', async () => {
    const runId = await pausedRun()
    const resuming = await first.hold((calls) => resume(calls, runId, 'yes'))
    const cancelling = await second.waits((calls) => cancel(calls, runId))
    await resuming.commit()
    expect(resuming.result).toBe('accepted')
    await cancelling.end
    expect(await engine.run(runId)).toMatchObject({ status: 'cancelled', claim_state: 'complete' })
  })

  test('its runner that puts the run behind a delay: the run is due at once, whichever comes first', async () => {
    for (const isResumedFirst of [true, false]) {
      const claim = await engine.leased('r1')
      await engine.call('on_run_paused', { ...claim, node_ids: ['approve'] })
      await engine.call('open_wait', { ...claim, node_id: 'approve' })
      const giveBack = (calls: EngineCalls) =>
        calls.call('release_run', { ...claim, delay_ms: 3_600_000, reason: 'delay' })
      const answer = (calls: EngineCalls) => resume(calls, claim.run_id, 'yes')
      const [one, other] = isResumedFirst ? [answer, giveBack] : [giveBack, answer]
      const holding = await first.hold(one as typeof giveBack)
      const waiting = await second.waits(other as typeof giveBack)
      await holding.commit()
      await waiting.end
      const [run] = await database.sql`
        select status, claim_state, available_at <= pgflow.clock() as is_due from starflow.workflow_runs where id = ${claim.run_id}`
      expect(run).toEqual({ status: 'paused', claim_state: 'queued', is_due: true })
    }
  })
})

test('events of a run become visible in the order of their ids', async () => {
  const claim = await engine.leased('r1')
  const slow = await first.hold((calls) => calls.call('on_node_start', { ...claim, node_id: 'a', attempt: 1 }))
  const fast = await second.waits((calls) => calls.call('on_node_start', { ...claim, node_id: 'b', attempt: 1 }))
  expect(await engine.history(claim.run_id)).toEqual(['run_started'])
  await slow.commit()
  await fast.end
  expect(await engine.history(claim.run_id)).toEqual(['run_started', 'node_start a', 'node_start b'])
})
