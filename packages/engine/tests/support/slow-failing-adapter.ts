import { setTimeout as sleep } from 'node:timers/promises'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'

export interface SlowFailingAdapter {
  readonly adapter: QueueingStateAdapter
  /** Every call that has ended, in the order of their ends: `onNodeStart pack failed`, `onNodeStart pack`. */
  readonly calls: readonly string[]
  /** The calls that are on their way. Whoever awaits every boundary finds none while a handler runs. */
  underway(): readonly string[]
}

/**
 * An adapter each of whose methods takes its time, and fails once before it works: with `before` nothing has happened then, with `after` it has
 * happened and only the answer is lost, with `never` it is only slow. Adapters bound to a claim count and fail together with the one
 * they came from.
 *
 * @example
 * const { adapter, underway } = slowFailing(await LocalWorkflowStateAdapter.open({ path: ':memory:' }), { fails: 'after' })
 */
export function slowFailing(
  inner: QueueingStateAdapter,
  { fails, delayMs = 2 }: { readonly fails: 'before' | 'after' | 'never'; readonly delayMs?: number },
): SlowFailingAdapter {
  const calls: string[] = []
  const underway = new Set<{ readonly title: string }>()
  const failed = new Set<string>()

  /** True the first time that this method is called. */
  const isToFail = (method: string) => {
    if (fails === 'never' || failed.has(method)) return false
    failed.add(method)
    return true
  }

  const slow =
    (method: string, call: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]) => {
      const title = titleOf(method, args)
      const entry = { title }
      underway.add(entry)
      const isFailing = isToFail(method)
      try {
        await sleep(delayMs)
        if (isFailing && fails === 'before') throw new LostConnection(method)
        const answer = await call(...args)
        await sleep(delayMs)
        if (isFailing) throw new LostConnection(method)
        calls.push(title)
        return answer
      } catch (error) {
        calls.push(`${title} failed`)
        throw error
      } finally {
        underway.delete(entry)
      }
    }

  const wrap = (adapter: QueueingStateAdapter): QueueingStateAdapter =>
    new Proxy(adapter, {
      get(target, name) {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function' || typeof name !== 'string') return value
        if (name === 'bind')
          return (claim: Parameters<typeof target.bind>[0]) => wrap(target.bind(claim) as typeof target)
        if (IMMEDIATE.has(name)) return value.bind(target)
        return slow(name, value.bind(target))
      },
    })
  return { adapter: wrap(inner), calls, underway: () => [...underway].map(({ title }) => title) }
}

/** What belongs to the connection, and not to a run. */
const IMMEDIATE = new Set(['close', 'onQueued'])

/** As a driver would throw it: nothing that a program could recognise. */
class LostConnection extends Error {
  constructor(method: string) {
    super(`The connection was lost during ${method}.`)
  }
}

/** The method, and the node that it is about where there is one. */
function titleOf(method: string, args: readonly unknown[]): string {
  const node = /Node|Wait/.test(method) && typeof args[1] === 'string' ? ` ${args[1]}` : ''
  return `${method}${node}`
}
