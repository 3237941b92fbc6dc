import { Flow, RetryLater, unchecked } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { Engine } from '../src/engine/engine.ts'
import { verifyWaitToken } from '../src/wait/wait-token.ts'
import { useStore } from './conformance/adapter-factory.ts'
import { SWEEP } from './conformance/run-fixture.ts'
import { deferred } from './support/deferred.ts'
import { localStores } from './support/local-store.ts'
import { enqueueFlow } from './support/queued-flow.ts'
import { supabaseStores } from './support/supabase-stores.ts'
import { approval, payload, TOKEN_KEY, takeUp, waitHost } from './support/waiting-flow.ts'

const factories = [localStores, await supabaseStores(await testDatabase())]

describe.each(factories)('on $name', (factory) => {
  const store = useStore(factory)
  const OUTPUT = { publish: 'HELLO by Ada' }

  /** A run of the approval that is paused. */
  async function pausedApproval() {
    const { adapter } = store()
    const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
    await (await takeUp(adapter, approval)).execute()
    return runId
  }

  test('a paused run goes on in another process, with the payload as the output of its wait', async () => {
    const runId = await pausedApproval()
    const other = await store().connect()
    expect(await other.resumeWait(runId, 'approve', payload)).toBe('accepted')
    expect(await (await takeUp(other, approval)).execute()).toEqual({ end: 'success', output: OUTPUT })
    const events = (await other.readEvents(runId)).map(({ type, nodeId }) => `${type} ${nodeId ?? ''}`.trim())
    expect(events).toEqual([
      ...['run_started', 'node_start draft', 'node_complete draft', 'node_start approve', 'run_paused', 'phase'],
      ...['run_resumed', 'node_complete approve', 'node_start publish', 'node_complete publish', 'run_completed'],
    ])
  })

  test('the token that somebody gets resumes this wait, and is good a week longer than it is open, by the clock of the database', async () => {
    const { adapter } = store()
    const host = waitHost()
    const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
    await (await takeUp(adapter, approval, { waitHost: host })).execute()
    const openedAt = Date.parse((await adapter.readWaits(runId))[0]!.openedAt!)
    const claims = verifyWaitToken(host.wakes[0]!.token, [TOKEN_KEY], openedAt)
    expect(claims).toMatchObject({ placement: 'runner', runId, stepSlug: 'approve' })
    const life = claims.expiresAt - openedAt / 1000 - 7 * 24 * 3600
    expect(life).toBeGreaterThanOrEqual(3590)
    expect(life).toBeLessThanOrEqual(3610)
  })

  test('a paused run holds no lease, and no sweep touches it', async () => {
    const { adapter, advance } = store()
    const runId = await pausedApproval()
    await advance(3_000_000)
    expect(await adapter.expireOldLeases(SWEEP)).toEqual([])
    expect(await adapter.readRun(runId)).toMatchObject({ status: 'paused', claimState: 'paused', leaseUntil: null })
  })

  test('a wait beside a long delay is told of at once, and whichever is over first lets the run go on', async () => {
    const { adapter, advance } = store()
    const flow = new Flow({ slug: 'beside' })
      .step({ slug: 'later', maxAttempts: 2 }, (_, ctx) => {
        if (ctx.stepTask.attempt === 1) throw new RetryLater({ delaySeconds: 3600 })
        return 'tried again'
      })
      .wait({ slug: 'approve', payload: unchecked<string>() })
      .wait({ slug: 'sign', payload: unchecked<string>() })
      .step({ slug: 'note', dependsOn: ['approve'] }, ({ approve }) => `${approve} noted`)
    const host = waitHost()
    const goOn = async () => await (await takeUp(adapter, flow, { waitHost: host })).execute()
    const runId = await enqueueFlow(adapter, flow, {})
    expect(await goOn()).toEqual({ end: 'paused' })
    expect(host.wakes.map(({ nodeId }) => nodeId)).toEqual(['approve', 'sign'])

    expect(await adapter.resumeWait(runId, 'approve', 'yes')).toBe('accepted')
    expect(await goOn()).toEqual({ end: 'paused' })
    await advance(3_600_001)
    expect(await goOn()).toEqual({ end: 'paused' })
    expect(await adapter.readRun(runId)).toMatchObject({ status: 'paused', claimState: 'paused' })
    expect(await adapter.resumeWait(runId, 'sign', 'Ada')).toBe('accepted')
    expect(await goOn()).toEqual({ end: 'success', output: { later: 'tried again', note: 'yes noted', sign: 'Ada' } })
    expect(host.wakes).toHaveLength(2)
  })

  test('a second resume changes nothing', async () => {
    const { adapter } = store()
    const runId = await pausedApproval()
    await adapter.resumeWait(runId, 'approve', payload)
    expect(await adapter.resumeWait(runId, 'approve', { by: 'Eve' })).toBe('already_resumed')
    expect(await (await takeUp(adapter, approval)).execute()).toEqual({ end: 'success', output: OUTPUT })
  })

  test('a resume before the run has come to its wait is kept for it', async () => {
    const { adapter } = store()
    const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
    expect(await adapter.resumeWait(runId, 'approve', payload)).toBe('early')
    const host = waitHost()
    const execution = await takeUp(adapter, approval, { waitHost: host })
    expect(await execution.execute()).toEqual({ end: 'success', output: OUTPUT })
    expect(host.wakes).toEqual([])
  })

  test('a wait that nobody resumes in time fails, and its run with it; a resume is too late then', async () => {
    const { adapter, advance } = store()
    const runId = await pausedApproval()
    await advance(3_600_001)
    expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'wait_over' }])
    expect(await adapter.resumeWait(runId, 'approve', payload)).toBe('timed_out')
    expect(await (await takeUp(adapter, approval)).execute()).toMatchObject({
      ...{
        end: 'error',
        failure: { code: 'SF814', message: 'Wait "approve" was not resumed within its timeout of 3600 s.' },
      },
    })
  })

  test('at the moment of the timeout one of the two counts, and the run goes on', async () => {
    const { adapter, advance } = store()
    const runId = await pausedApproval()
    await advance(3_600_001)
    const [outcome, swept] = await Promise.all([
      adapter.resumeWait(runId, 'approve', payload),
      adapter.expireOldLeases(SWEEP),
    ])
    expect(['timed_out', 'accepted']).toContain(outcome)
    const result = await (await takeUp(adapter, approval)).execute()
    expect(result.end).toBe(outcome === 'accepted' ? 'success' : 'error')
    expect(swept.length).toBeLessThanOrEqual(1)
  })

  test('where silence is an answer, the run goes on without the payload', async () => {
    const { adapter, advance } = store()
    const flow = new Flow({ slug: 'silent' })
      .wait({ slug: 'veto', timeout: 60, whenExhausted: 'skip', payload: unchecked<{ why: string }>() })
      .step({ slug: 'after', dependsOn: ['veto'] }, ({ veto }) => veto?.why ?? 'nobody objected')
    const runId = await enqueueFlow(adapter, flow, {})
    await (await takeUp(adapter, flow)).execute()
    await advance(60_001)
    await adapter.expireOldLeases(SWEEP)
    expect(await (await takeUp(adapter, flow)).execute()).toEqual({
      end: 'success',
      output: { after: 'nobody objected' },
    })
    const skips = (await adapter.readEvents(runId)).filter(({ type }) => type === 'node_skip')
    expect(skips).toMatchObject([{ nodeId: 'veto', payload: { reason: 'handler_failed' } }])
  })

  test('a payload that is no array fails the run where a map goes over it, whatever its modes say', async () => {
    const { adapter } = store()
    const flow = new Flow({ slug: 'list' })
      .wait({ slug: 'choose', whenExhausted: 'skip', payload: unchecked<string[]>() })
      .map({ slug: 'each', array: 'choose' }, (item) => item)
    const runId = await enqueueFlow(adapter, flow, {})
    await (await takeUp(adapter, flow)).execute()
    await adapter.resumeWait(runId, 'choose', { first: 'a' })
    expect(await (await takeUp(adapter, flow)).execute()).toMatchObject({
      end: 'error',
      failure: {
        code: 'SF811',
        message: '[TYPE_VIOLATION] Step "choose" feeds a map and must return an array, but returned object',
      },
    })
  })

  test('a run that was cancelled while it waited is resumed by nobody', async () => {
    const { adapter } = store()
    const runId = await pausedApproval()
    expect(await adapter.cancelRun(runId, 'withdrawn')).toBe(true)
    expect(await adapter.resumeWait(runId, 'approve', payload)).toBe('run_ended')
    await expect(takeUp(adapter, approval)).rejects.toThrow('no run to claim')
  })

  test('a wait whose condition does not hold is skipped, and nobody is told of it', async () => {
    const { adapter } = store()
    const flow = new Flow<{ amount: string }>({ slug: 'large' })
      .wait({ slug: 'approve', if: { amount: 'large' } })
      .step({ slug: 'pay', dependsOn: ['approve'] }, (outputs) => Object.keys(outputs))
    const runId = await enqueueFlow(adapter, flow, { amount: 'small' })
    const host = waitHost()
    expect(await (await takeUp(adapter, flow, { waitHost: host })).execute()).toEqual({
      end: 'success',
      output: { pay: [] },
    })
    expect(host.wakes).toEqual([])
    expect(await adapter.resumeWait(runId, 'approve', payload)).toBe('run_ended')
  })

  test('waits are entered together, once nothing else can go on, and each is told of once', async () => {
    const { adapter } = store()
    const sideDone = deferred()
    const flow = new Flow({ slug: 'pair', baseDelay: 0 })
      .wait({ slug: 'legal' })
      .wait({ slug: 'money' })
      .step({ slug: 'side' }, async () => {
        await sideDone.promise
        return 'side'
      })
      .step({ slug: 'afterLegal', dependsOn: ['legal'] }, ({ legal }) => legal)
      .step({ slug: 'both', dependsOn: ['legal', 'money', 'side'] }, (outputs) => outputs)
    const runId = await enqueueFlow(adapter, flow, {})
    const first = waitHost()
    const executed = (await takeUp(adapter, flow, { waitHost: first })).execute()
    sideDone.resolve()
    expect(await executed).toEqual({ end: 'paused' })
    expect(first.wakes.map(({ nodeId }) => nodeId)).toEqual(['legal', 'money'])

    await adapter.resumeWait(runId, 'legal', 1)
    const second = waitHost()
    expect(await (await takeUp(adapter, flow, { waitHost: second })).execute()).toEqual({ end: 'paused' })
    expect(second.wakes).toEqual([])
    expect((await adapter.readEvents(runId)).filter(({ nodeId }) => nodeId === 'afterLegal')).toHaveLength(2)

    await adapter.resumeWait(runId, 'money', 2)
    expect(await (await takeUp(adapter, flow)).execute()).toEqual({
      ...{ end: 'success', output: { afterLegal: 1, both: { legal: 1, money: 2, side: 'side' } } },
    })
  })

  test('a run whose wait timed out can be retried: the wait is opened and told of again', async () => {
    const { adapter, advance } = store()
    const runId = await pausedApproval()
    await advance(3_600_001)
    await adapter.expireOldLeases(SWEEP)
    await (await takeUp(adapter, approval)).execute()
    expect(await adapter.retryRun(runId)).toBe(true)
    const host = waitHost()
    expect(await (await takeUp(adapter, approval, { waitHost: host })).execute()).toEqual({ end: 'paused' })
    expect(host.wakes).toMatchObject([{ nodeId: 'approve' }])
    await adapter.resumeWait(runId, 'approve', payload)
    expect(await (await takeUp(adapter, approval)).execute()).toEqual({ end: 'success', output: OUTPUT })
  })

  test('a flow with a wait is refused where no token can be signed', async () => {
    const { adapter } = store()
    await expect(new Engine({ adapter }).serve(approval)).rejects.toMatchObject({ code: 'SF817' })
    const short = { ...waitHost(), tokenKey: { kid: 'test', secret: 'short' } }
    await expect(new Engine({ adapter, waitHost: short }).serve(approval)).rejects.toMatchObject({ code: 'SF206' })
  })
})
