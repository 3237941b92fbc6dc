import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'
import { type AdapterFactory, useStore } from './adapter-factory.ts'
import { heldRun, SHAPE } from './run-fixture.ts'

/** The definitions that runs are tied to. */
export function describeDefinitions(factory: AdapterFactory<WorkflowStateAdapter>): void {
  describe(`${factory.name}: definitions`, () => {
    const store = useStore(factory)
    const shapeHash = '0f'.repeat(32)

    test('a definition is kept once for its flow and shape', async () => {
      const { adapter, connect } = store()
      const first = await adapter.saveDefinition({ flowSlug: 'orders', shapeHash, shape: SHAPE })
      expect(first).toEqual({ definitionId: expect.any(String), flowSlug: 'orders', shapeHash, shape: SHAPE })
      const other = await connect()
      expect(await other.saveDefinition({ flowSlug: 'orders', shapeHash, shape: SHAPE })).toEqual(first)
    })

    test('a definition is read by its id', async () => {
      const { adapter } = store()
      const saved = await adapter.saveDefinition({ flowSlug: 'orders', shapeHash, shape: SHAPE })
      expect(await adapter.readDefinition(saved.definitionId)).toEqual(saved)
      expect(await adapter.readDefinition(randomUUID())).toBeNull()
    })

    test('another flow or another shape is another definition', async () => {
      const { adapter } = store()
      const definitions = [
        await adapter.saveDefinition({ flowSlug: 'orders', shapeHash, shape: SHAPE }),
        await adapter.saveDefinition({ flowSlug: 'orders', shapeHash: 'aa'.repeat(32), shape: { steps: [] } }),
        await adapter.saveDefinition({ flowSlug: 'invoices', shapeHash, shape: SHAPE }),
      ]
      expect(new Set(definitions.map(({ definitionId }) => definitionId)).size).toBe(3)
      expect(definitions[1]?.shape).toEqual({ steps: [] })
    })

    test('processes that save one definition at the same time get the same', async () => {
      const { adapter, connect } = store()
      const savers = [adapter, await connect(), await connect()]
      const saved = await Promise.all(
        savers.map((each) => each.saveDefinition({ flowSlug: 'orders', shapeHash, shape: SHAPE })),
      )
      expect(new Set(saved.map(({ definitionId }) => definitionId)).size).toBe(1)
    })

    test('a bound adapter saves definitions too', async () => {
      const { adapter } = store()
      const { bound } = await heldRun(adapter)
      const saved = await bound.saveDefinition({ flowSlug: 'orders', shapeHash, shape: SHAPE })
      expect(await adapter.saveDefinition({ flowSlug: 'orders', shapeHash, shape: SHAPE })).toEqual(saved)
    })
  })
}
