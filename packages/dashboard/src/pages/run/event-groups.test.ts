import { expect, test } from 'vitest'
import { eventGroups, GROUP_FROM, type RunEvent } from './event-groups.ts'

let id = 0
const event = (type: string, node: string | null = null): RunEvent => ({
  id: String(++id),
  type,
  node,
  at: '',
  payload: null,
})
const sketch = (events: RunEvent[]) =>
  eventGroups(events).map((group) =>
    group.kind === 'event'
      ? `${group.event.type} ${group.event.node ?? ''}`.trim()
      : `${group.step}: ${[...group.counts].map(([type, count]) => `${count} ${type}`).join(', ')}`,
  )

test('what happens to the elements of a map is one line, in whatever order it comes', () => {
  const elements = Array.from({ length: 1000 }, (_, index) => [
    event('node_start', `each[${index}]`),
    ...(index === 7 ? [event('node_retry', 'each[7]')] : []),
    event('node_complete', `each[${index}]`),
  ]).flat()
  expect(sketch([event('run_started'), ...elements, event('node_complete', 'each')])).toEqual([
    'run_started',
    'each: 1000 node_start, 1000 node_complete, 1 node_retry',
    'node_complete each',
  ])
})

test('maps that work at the same time have a line each', () => {
  const both = Array.from({ length: GROUP_FROM }, (_, index) => [
    event('node_start', `a[${index}]`),
    event('node_start', `b[${index}]`),
  ])
  expect(sketch(both.flat())).toEqual([`a: ${GROUP_FROM} node_start`, `b: ${GROUP_FROM} node_start`])
})

test('a few events are told one by one', () => {
  expect(sketch([event('node_start', 'a[0]'), event('node_complete', 'a[0]')])).toEqual([
    'node_start a[0]',
    'node_complete a[0]',
  ])
})

test('no event is lost, and those of a group keep their order', () => {
  const events = Array.from({ length: 50 }, (_, index) => event('node_start', index % 7 === 0 ? 's' : `m[${index}]`))
  const told = eventGroups(events).flatMap((group) => (group.kind === 'event' ? [group.event] : group.events))
  expect(told.map((each) => each.id)).toEqual(events.map((each) => each.id))
})
