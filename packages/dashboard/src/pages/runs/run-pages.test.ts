import { describe, expect, test } from 'vitest'
import { cursorAt, newerThan, type RunPages, runsOf, withNewer, withStates } from './run-pages.ts'

interface Run {
  readonly runId: string
  readonly status?: string
}
const runs = (...ids: string[]): Run[] => ids.map((runId) => ({ runId }))
const list: RunPages<Run> = {
  pages: [
    { runs: runs('f', 'e'), next: 'e' },
    { runs: runs('d', 'c'), next: 'c' },
  ],
}
const ids = (of: RunPages<Run>) => runsOf(of.pages).map(({ runId }) => runId)

test('a state that comes later changes its run and moves none', () => {
  const current = withStates(list, [
    { runId: 'd', status: 'error' },
    { runId: 'z', status: 'running' },
  ])
  expect(ids(current)).toEqual(['f', 'e', 'd', 'c'])
  expect(runsOf(current.pages)[2]).toEqual({ runId: 'd', status: 'error' })
  expect(current.pages[0]).toBe(list.pages[0])
})

describe('newer runs', () => {
  test('are those above the first one that is shown', () => {
    expect(newerThan(list, { runs: runs('h', 'g', 'f', 'e'), next: 'e' })).toEqual({
      runs: runs('h', 'g'),
      isWhole: true,
    })
    expect(newerThan(list, { runs: runs('f', 'e'), next: 'e' })).toEqual({ runs: [], isWhole: true })
  })

  test('are found behind one that left the list', () => {
    expect(newerThan(list, { runs: runs('g', 'e', 'd'), next: 'd' }).runs).toEqual(runs('g'))
  })

  test('are more than a page tells that does not reach what is shown', () => {
    expect(newerThan(list, { runs: runs('z', 'y'), next: 'y' })).toEqual({ runs: runs('z', 'y'), isWhole: false })
  })

  test('of an empty list are all', () => {
    const empty: RunPages<Run> = { pages: [{ runs: [], next: null }] }
    expect(newerThan(empty, { runs: runs('a'), next: null })).toEqual({ runs: runs('a'), isWhole: true })
    expect(ids(withNewer(empty, runs('a')))).toEqual(['a'])
  })

  test('are laid on top, each once', () => {
    expect(ids(withNewer(list, runs('h', 'g', 'f')))).toEqual(['h', 'g', 'f', 'e', 'd', 'c'])
    expect(ids(withNewer(withNewer(list, runs('g')), runs('g')))).toEqual(['g', 'f', 'e', 'd', 'c'])
  })
})

test('the page of a run is asked again with what the one before it ended with', () => {
  expect([0, 1, 2, 3, 4].map((index) => cursorAt(list, index))).toEqual([null, null, 'e', 'e', null])
  const withEmpty = { pages: [list.pages[0]!, { runs: [], next: 'd' }, list.pages[1]!] }
  expect(cursorAt(withEmpty, 2)).toBe('d')
})
