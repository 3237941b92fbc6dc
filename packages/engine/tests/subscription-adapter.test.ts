import { expect, test } from 'vitest'
import { LocalWorkflowStateAdapter } from '../src/adapters/local/index.ts'
import type { QueueingStateAdapter } from '../src/state-adapter.ts'
import type { AdapterFactory } from './conformance/adapter-factory.ts'
import { describePools } from './conformance/pools.ts'
import { describeQueue } from './conformance/queue.ts'
import { listenTo } from './conformance/queue-listener.ts'
import { claim, enqueue } from './conformance/run-fixture.ts'
import { localStores } from './support/local-store.ts'
import { subscriptionAdapter } from './support/subscription-adapter.ts'

/** The queue's topics hold for runners that listen to it. */
const listening: AdapterFactory<QueueingStateAdapter> = {
  name: 'a subscription',
  async open() {
    const store = await localStores.open()
    const listen = async (inner: QueueingStateAdapter) => {
      const adapter = subscriptionAdapter(inner)
      await adapter.onQueued?.(null, () => {})
      return adapter
    }
    return { ...store, adapter: await listen(store.adapter), connect: async () => listen(await store.connect()) }
  },
}

describeQueue(listening)
describePools(listening)

test('whoever asks a subscription without listening gets nothing', async () => {
  const adapter = subscriptionAdapter(await LocalWorkflowStateAdapter.open({ path: ':memory:' }))
  const runId = await enqueue(adapter)
  expect(await claim(adapter)).toBeNull()
  const listener = await listenTo(adapter)
  await listener.woken()
  expect((await claim(adapter))?.run.runId).toBe(runId)
  await adapter.close()
})

test('what is queued for later is pushed when it is due', async () => {
  const adapter = subscriptionAdapter(await LocalWorkflowStateAdapter.open({ path: ':memory:' }))
  const listener = await listenTo(adapter)
  const runId = await enqueue(adapter, { delayMs: 30 })
  let claimed = await claim(adapter)
  while (claimed === null) {
    await listener.woken()
    claimed = await claim(adapter)
  }
  expect(claimed.run.runId).toBe(runId)
  await listener.stop()
  await adapter.close()
})
