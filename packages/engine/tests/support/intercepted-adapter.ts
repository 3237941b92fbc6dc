import type { RunClaim } from '../../src/run-record.ts'
import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'

/** The adapter, and those bound by it, with `before` called and awaited before each method. */
export function interceptedAdapter<TAdapter extends WorkflowStateAdapter>(
  adapter: TAdapter,
  before: (method: string, args: readonly unknown[]) => Promise<void> | void,
): TAdapter {
  return new Proxy(adapter, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      if (name === 'bind') return (claim: RunClaim) => interceptedAdapter(target.bind(claim), before)
      if (name === 'close' || name === 'onQueued') return value.bind(target)
      return async (...args: unknown[]) => {
        await before(name, args)
        return await value.apply(target, args)
      }
    },
  })
}
