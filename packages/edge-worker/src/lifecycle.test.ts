import { describe, expect, it } from 'vitest'
import { Lifecycle, type LifecycleState } from './lifecycle.ts'

const STATES: LifecycleState[] = ['created', 'starting', 'running', 'deprecated', 'stopping', 'stopped']

function at(state: LifecycleState): Lifecycle {
  const lifecycle = new Lifecycle()
  const path = { created: [], starting: ['starting'], running: ['starting', 'running'] } as Record<string, string[]>
  path.deprecated = ['starting', 'running', 'deprecated']
  path.stopping = ['starting', 'running', 'stopping']
  path.stopped = ['stopped']
  for (const next of path[state] ?? []) lifecycle.transition(next as LifecycleState)
  return lifecycle
}

describe('Lifecycle', () => {
  const allowed = [
    'created>starting',
    'created>stopped',
    'starting>running',
    'starting>stopping',
    'starting>stopped',
    'running>deprecated',
    'running>stopping',
    'deprecated>stopping',
    'stopping>stopped',
  ]
  for (const from of STATES) {
    for (const to of STATES) {
      const isAllowed = allowed.includes(`${from}>${to}`)
      it(`${isAllowed ? 'goes' : 'refuses to go'} from ${from} to ${to}`, () => {
        const lifecycle = at(from)
        expect(lifecycle.can(to)).toBe(isAllowed)
        if (isAllowed) lifecycle.transition(to)
        else expect(() => lifecycle.transition(to)).toThrow(`from ${from} to ${to}`)
        expect(lifecycle.state).toBe(isAllowed ? to : from)
      })
    }
  }

  it('claims while running, and only then', () => {
    expect(STATES.filter((state) => at(state).isClaiming)).toEqual(['running'])
  })

  it('reports every move', () => {
    const moves: string[] = []
    const lifecycle = new Lifecycle((from, to) => moves.push(`${from}>${to}`))
    lifecycle.transition('starting')
    lifecycle.transition('stopped')
    expect(moves).toEqual(['created>starting', 'starting>stopped'])
  })
})
