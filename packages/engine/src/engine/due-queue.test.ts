import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DueQueue, type DueTask } from './due-queue.ts'

const tasks = fc.array(fc.record({ dueAtMs: fc.nat({ max: 20 }), index: fc.nat({ max: 50 }) }))

test('tasks come in the order in which they are due, of equals the lower index first', () => {
  fc.assert(
    fc.property(tasks, (given) => {
      const queue = new DueQueue(() => true)
      for (const task of given) queue.push(task)
      const taken: (number | undefined)[] = given.map(() => queue.takeDue(20))
      const sorted = [...given].sort((a, b) => a.dueAtMs - b.dueAtMs || a.index - b.index)
      expect(taken).toEqual(sorted.map((task) => task.index))
      expect(queue.takeDue(20)).toBeUndefined()
    }),
  )
})

test('what is not due yet is not taken', () => {
  const queue = new DueQueue(() => true)
  queue.push({ dueAtMs: 10, index: 0 })
  expect(queue.takeDue(9)).toBeUndefined()
  expect(queue.first()).toEqual({ dueAtMs: 10, index: 0 })
  expect(queue.takeDue(10)).toBe(0)
})

test('what has changed since is passed over', () => {
  const stale = new Set<DueTask>()
  const queue = new DueQueue((task) => !stale.has(task))
  const [old, current] = [
    { dueAtMs: 1, index: 0 },
    { dueAtMs: 2, index: 0 },
  ]
  queue.push(old!)
  queue.push(current!)
  stale.add(old!)
  expect(queue.due(5)).toEqual([0])
  expect(queue.first()).toEqual(current)
})
