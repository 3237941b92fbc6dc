import { expect, test } from 'vitest'
import { Flow } from './flow.ts'
import { extractFlowShape } from './flow-shape.ts'

const flow = new Flow<{ id: string }>({ slug: 'visits' })

test('a session step is a single step: its variable is no part of the structure', () => {
  const one = flow.sessionRead({ slug: 'last', key: 'visitedAt' })
  const other = flow.step({ slug: 'last' }, () => null)
  expect(extractFlowShape(one)).toEqual(extractFlowShape(other))
})

test.each([
  [() => flow.sessionRead({ slug: 'a', key: '' }), 'key'],
  [() => flow.sessionRead({ slug: 'a', key: 'k', session: '' }), 'session'],
  [() => flow.sessionRead({ slug: 'a', key: 'k', keepFor: 1 } as never), 'keepFor'],
  [() => flow.sessionWrite({ slug: 'a', key: 'k', keepFor: 0 }, () => 1), 'keepFor'],
  [() => flow.sessionWrite({ slug: 'a', key: 'k', keepFor: Number.NaN }, () => 1), 'keepFor'],
  [() => flow.sessionWrite({ slug: 'a', key: 'k' }, undefined as never), 'value'],
])('case %#: an option that cannot be is refused by its name', (make, option) => {
  expect(make).toThrow(expect.objectContaining({ code: 'SF113', option }))
})

test('a slug is used once, also by session steps', () => {
  expect(() => flow.sessionRead({ slug: 'a', key: 'k' }).sessionRead({ slug: 'A', key: 'k' })).toThrow(
    expect.objectContaining({ code: 'SF104' }),
  )
})
