import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import type { QueueingStateAdapter } from '../src/state-adapter.ts'
import { useStore } from './conformance/adapter-factory.ts'
import { SWEEP, TTL_MS } from './conformance/run-fixture.ts'
import { interceptedAdapter } from './support/intercepted-adapter.ts'
import { localStores } from './support/local-store.ts'
import { enqueueFlow } from './support/queued-flow.ts'
import { supabaseStores } from './support/supabase-stores.ts'
import { approval, payload, takeUp, waitHost } from './support/waiting-flow.ts'

const factories = [localStores, await supabaseStores(await testDatabase())]

describe.each(factories)('on $name', (factory) => {
  const store = useStore(factory)
  const OUTPUT = { publish: 'HELLO by Ada' }

  /** What is called while a run enters its wait, in this order. */
  const STEPS = [
    'onNodeStart approve',
    'onRunPaused',
    'openWait approve',
    'saveCheckpoint',
    'recordPhaseIfChanged',
    'emitWaitWake',
    'clearLease',
  ] as const

  type Interception = (step: string) => Promise<void> | void

  /** Executes the run until it ends here, with `before` called before each step of entering the wait. */
  async function execute(adapter: QueueingStateAdapter, before: Interception) {
    const title = (method: string, args: readonly unknown[]) => {
      const wait = args[1] as { nodeId?: string } | string | undefined
      if (method === 'openWait') return `openWait ${(wait as { nodeId: string }).nodeId}`
      return /Node/.test(method) ? `${method} ${String(wait)}` : method
    }
    const host = waitHost(() => before('emitWaitWake'))
    const intercepted = interceptedAdapter(adapter, (method, args) => before(title(method, args)))
    const execution = await takeUp(intercepted, approval, { waitHost: host })
    return { execution, host }
  }

  test('the six steps are taken in their order, the wake last, and the lease is given up after it', async () => {
    const { adapter } = store()
    const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
    const taken: string[] = []
    const { execution, host } = await execute(adapter, (step) => void taken.push(step))
    expect(await execution.execute()).toEqual({ end: 'paused' })
    expect(taken.slice(taken.indexOf(STEPS[0]))).toEqual(STEPS)
    expect(host.wakes).toMatchObject([{ runId, nodeId: 'approve', timeoutMs: 3_600_000, workspaceId: 'acme' }])
    expect(await adapter.readRun(runId)).toMatchObject({
      ...{ status: 'paused', claimState: 'paused', leasedBy: null, leaseUntil: null },
      checkpoint: { variables: { __celestialWait: { nodes: ['approve'] } } },
    })
  })

  test('when somebody is told, the run is paused and its checkpoint is durable', async () => {
    const { adapter, connect } = store()
    const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
    const other = await connect()
    let seen: unknown
    const { execution } = await execute(adapter, async (step) => {
      if (step === 'emitWaitWake') seen = await other.readRun(runId)
    })
    await execution.execute()
    expect(seen).toMatchObject({
      status: 'paused',
      checkpoint: { variables: { __celestialWait: { nodes: ['approve'] } } },
    })
  })

  describe('a process that dies', () => {
    test.each(STEPS)('before %s leaves a run that another one pauses, tells of and finishes', async (fatal) => {
      const { adapter, advance } = store()
      const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
      const { execution, host } = await dying(adapter, fatal)
      expect(await execution.execute()).toEqual({ end: 'stopped' })

      await advance(TTL_MS + 1)
      expect(await adapter.expireOldLeases(SWEEP)).toEqual([{ runId, outcome: 'requeued' }])
      const second = waitHost()
      expect(await (await takeUp(adapter, approval, { waitHost: second })).execute()).toEqual({ end: 'paused' })
      expect(second.wakes).toMatchObject([{ runId, nodeId: 'approve' }])
      expect(host.wakes).toHaveLength(fatal === 'clearLease' ? 1 : 0)

      expect(await adapter.resumeWait(runId, 'approve', payload)).toBe('accepted')
      expect(await (await takeUp(adapter, approval)).execute()).toEqual({ end: 'success', output: OUTPUT })
      const drafts = (await adapter.readEvents(runId)).filter((event) => event.nodeId === 'draft')
      expect(drafts.map(({ type }) => type)).toEqual(['node_start', 'node_complete'])
    })

    test.each(STEPS)('before %s loses no payload that comes before the run is taken over', async (fatal) => {
      const { adapter, advance } = store()
      const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
      const { execution } = await dying(adapter, fatal)
      await execution.execute()
      expect(['early', 'accepted']).toContain(await adapter.resumeWait(runId, 'approve', payload))
      await advance(TTL_MS + 1)
      await adapter.expireOldLeases(SWEEP)
      expect(await (await takeUp(adapter, approval)).execute()).toEqual({ end: 'success', output: OUTPUT })
    })
  })

  describe('a resume', () => {
    test.each(STEPS)('that comes right before %s is not lost, and the run does not hang', async (moment) => {
      const { adapter, connect } = store()
      const runId = await enqueueFlow(adapter, approval, { text: 'hello' })
      const other = await connect()
      const outcomes: string[] = []
      const { execution } = await execute(adapter, async (step) => {
        if (step === moment) outcomes.push(await other.resumeWait(runId, 'approve', payload))
      })
      const { end } = await execution.execute()
      const isOpen = STEPS.indexOf(moment) > STEPS.indexOf('openWait approve')
      expect(outcomes).toEqual([isOpen ? 'accepted' : 'early'])
      if (isOpen) {
        expect(end).toBe('paused')
        expect(await adapter.readRun(runId)).toMatchObject({ status: 'paused', claimState: 'queued' })
        expect(await (await takeUp(adapter, approval)).execute()).toEqual({ end: 'success', output: OUTPUT })
      }
      expect(await adapter.readRun(runId)).toMatchObject({ status: 'success', output: OUTPUT, checkpoint: null })
    })
  })

  /** An execution that ends before this step as if its process were killed: the step is not taken, and nothing after it. */
  async function dying(adapter: QueueingStateAdapter, fatal: string) {
    const made = await execute(adapter, async (step) => {
      if (step !== fatal) return
      made.execution.stop('stopped')
      await new Promise(() => {})
    })
    return made
  }
})
