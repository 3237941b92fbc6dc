import { afterEach, beforeEach } from 'vitest'
import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'

/**
 * How the suite opens stores of one kind. What an adapter may leave out is told by its type: topics that need a queue take a
 * factory of adapters that have one.
 */
export interface AdapterFactory<TAdapter extends WorkflowStateAdapter> {
  /** Stands before every title. */
  readonly name: string
  /** A store with nothing in it. */
  open(): Promise<TestStore<TAdapter>>
}

export interface TestStore<TAdapter extends WorkflowStateAdapter> {
  readonly adapter: TAdapter
  /** Another adapter on the same store, as another process would have; closed with the store. */
  connect(): Promise<TAdapter>
  /** Sets the clock of the store forward. Between two calls it may stand still or go on. */
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

/** A new store for each test of the block; call it inside of `describe`, and what it returns inside of a test. */
export function useStore<TAdapter extends WorkflowStateAdapter>(
  factory: AdapterFactory<TAdapter>,
): () => TestStore<TAdapter> {
  let store: TestStore<TAdapter> | undefined
  beforeEach(async () => {
    store = await factory.open()
  })
  afterEach(async () => {
    await store?.close()
    store = undefined
  })
  return () => {
    if (store === undefined) throw new Error('There is a store only within a test.')
    return store
  }
}
