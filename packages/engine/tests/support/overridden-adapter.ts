import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'

/** The adapter with some of its methods replaced; the others go to it as they are. */
export function overriddenAdapter<TAdapter extends WorkflowStateAdapter>(
  adapter: TAdapter,
  overrides: Partial<TAdapter>,
): TAdapter {
  return new Proxy(adapter, {
    get(target, name) {
      const value = Object.hasOwn(overrides, name) ? Reflect.get(overrides, name) : Reflect.get(target, name)
      // Private fields are the target's, not the proxy's.
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
