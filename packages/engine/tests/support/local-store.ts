import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LocalWorkflowStateAdapter } from '../../src/adapters/local/index.ts'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import type { AdapterFactory } from '../conformance/adapter-factory.ts'

/** Stores of SQLite, each in a file of its own, with a clock that stands still until a test sets it forward. */
export const localStores: AdapterFactory<QueueingStateAdapter> = {
  name: 'SQLite',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'starflow-state-'))
    const path = join(folder, 'runs.db')
    let now = Date.UTC(2026, 0, 1)
    const opened: LocalWorkflowStateAdapter[] = []
    const connect = async () => {
      const adapter = await LocalWorkflowStateAdapter.open({ path, durability: 'process_crash', clock: () => now })
      opened.push(adapter)
      return adapter
    }
    return {
      adapter: await connect(),
      connect,
      advance: async (ms) => {
        now += ms
      },
      close: async () => {
        for (const adapter of opened) await adapter.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  },
}
