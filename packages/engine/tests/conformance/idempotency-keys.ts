import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { EnqueueSpec, QueueingStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { claimedRun, definition, readRun, start } from './run-fixture.ts'

/** A start that is repeated, by run id or by key, finds the run that there is. */
export function describeIdempotencyKeys(factory: AdapterFactory<QueueingStateAdapter>): void {
  describe(`${factory.name}: run ids and idempotency keys`, () => {
    const store = useStore(factory)

    async function spec(changes: Partial<EnqueueSpec> = {}): Promise<EnqueueSpec> {
      const definitionId = await definition(store().adapter)
      return { runId: randomUUID(), ...start({ definitionId }), ...changes }
    }

    test('the same run id again gives the run that there is, with its first input', async () => {
      const { adapter } = store()
      const first = await spec({ input: 'first' })
      expect(await adapter.enqueueRun(first)).toEqual({ runId: first.runId, created: true })
      expect(await adapter.enqueueRun({ ...first, input: 'second' })).toEqual({ runId: first.runId, created: false })
      expect((await readRun(adapter, first.runId)).input).toBe('first')
    })

    test('the same key again gives the run that there is, whatever its new id', async () => {
      const { adapter } = store()
      const first = await spec({ idempotencyKey: 'order-1' })
      await adapter.enqueueRun(first)
      const second = await spec({ idempotencyKey: 'order-1' })
      expect(await adapter.enqueueRun(second)).toEqual({ runId: first.runId, created: false })
      expect(await adapter.readRun(second.runId)).toBeNull()
    })

    test('a key is kept after its run has ended', async () => {
      const { adapter } = store()
      const { runId, bound } = await claimedRun(adapter, { idempotencyKey: 'order-1' })
      await bound.onRunComplete(runId, { output: null, durationMs: 1 })
      await bound.clearLease(runId)
      expect(await adapter.enqueueRun(await spec({ idempotencyKey: 'order-1' }))).toEqual({ runId, created: false })
    })

    test('of callers that use one key at the same time one makes the run, and all get it', async () => {
      const { adapter, connect } = store()
      const callers = [adapter, await connect(), await connect()]
      const specs = await Promise.all(Array.from({ length: 9 }, () => spec({ idempotencyKey: 'order-1' })))
      const answers = await Promise.all(specs.map((each, index) => callers[index % 3]!.enqueueRun(each)))
      expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1)
      expect(answers.filter(({ created }) => created)).toHaveLength(1)
    })

    test('a run id or key of another flow is refused and changes nothing', async () => {
      const { adapter } = store()
      const first = await spec({ idempotencyKey: 'order-1' })
      await adapter.enqueueRun(first)
      const invoice = { ...(await spec()), templateId: 'invoices' }
      for (const taken of [{ runId: first.runId }, { idempotencyKey: 'order-1' }]) {
        await expect(adapter.enqueueRun({ ...invoice, ...taken })).rejects.toMatchObject({ code: 'SF202' })
      }
      expect(await adapter.readRun(invoice.runId)).toBeNull()
    })

    test('a run id of another workspace is refused, and the message does not tell its flow', async () => {
      const { adapter } = store()
      const first = await spec()
      await adapter.enqueueRun(first)
      const refusal = await adapter.enqueueRun({ ...first, workspaceId: 'globex' }).catch((error: unknown) => error)
      expect(refusal).toMatchObject({ code: 'SF202' })
      expect(String(refusal)).not.toContain('orders')
    })

    test.each(['workspaceId', 'env'] as const)('a key in another %s is another key', async (scope) => {
      const { adapter } = store()
      await adapter.enqueueRun(await spec({ idempotencyKey: 'order-1' }))
      const other = await spec({ idempotencyKey: 'order-1', [scope]: 'another' })
      expect(await adapter.enqueueRun(other)).toEqual({ runId: other.runId, created: true })
    })
  })
}
