import type { Clock } from '../../src/engine/clock.ts'
import type { RunClaim } from '../../src/run-record.ts'
import type { WorkflowStateAdapter } from '../../src/state-adapter.ts'

/** Time that passes only when it is told to: it jumps to the next timer whenever nothing else is left to do. */
export class VirtualClock implements Clock {
  readonly #timers = new Map<object, { readonly atMs: number; readonly callback: () => void }>()
  #nowMs = 0

  now(): number {
    return this.#nowMs
  }

  after(ms: number, callback: () => void): () => void {
    const key = {}
    this.#timers.set(key, { atMs: this.#nowMs + Math.max(ms, 0), callback })
    return () => this.#timers.delete(key)
  }

  /** Jumps to the earliest timer; false when there is none. */
  jump(): boolean {
    const [next] = [...this.#timers].sort(([, one], [, other]) => one.atMs - other.atMs)
    if (next === undefined) return false
    const [key, { atMs, callback }] = next
    this.#timers.delete(key)
    this.#nowMs = Math.max(this.#nowMs, atMs)
    callback()
    return true
  }
}

/** The calls of a store that are under way: while there are some, something is left to do. */
export class StoreCalls {
  #count = 0

  get areUnderWay(): boolean {
    return this.#count > 0
  }

  /** The adapter, and those bound by it, with their calls counted. */
  counted<TAdapter extends WorkflowStateAdapter>(adapter: TAdapter): TAdapter {
    return new Proxy(adapter, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'bind') return (claim: RunClaim) => this.counted(target.bind(claim))
        return (...args: unknown[]) => this.#during(value.apply(target, args))
      },
    })
  }

  #during(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer
    this.#count++
    return answer.finally(() => {
      this.#count--
    })
  }
}

/** What runs between two calls of the store takes fewer turns of the event loop. */
const IDLE_TURNS = 20

/** Runs until the promise settles; time passes while nothing else happens. */
export async function inVirtualTime<T>(clock: VirtualClock, calls: StoreCalls, work: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = work.finally(() => {
    isSettled = true
  })
  settled.catch(() => {})
  let idleTurns = 0
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve))
    idleTurns = calls.areUnderWay ? 0 : idleTurns + 1
    if (idleTurns < IDLE_TURNS || isSettled) continue
    idleTurns = 0
    clock.jump()
  }
  return await settled
}
