import { expect, test } from 'vitest'
import { GROUP_FROM, type GraphStep, ranksOf, stepGraph } from './step-graph.ts'

function step(slug: string, ...dependsOn: string[]): GraphStep {
  return { step: slug, type: 'single', dependsOn }
}
const fan = (count: number) => [
  step('split'),
  ...Array.from({ length: count }, (_, index) => step(`part${index}`, 'split')),
  step('join', ...Array.from({ length: count }, (_, index) => `part${index}`)),
]

test('each step of a small flow is a node, and each dependency an edge', () => {
  const graph = stepGraph([step('a'), step('b', 'a'), step('c', 'a', 'b')])
  expect(graph.nodes.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect(graph.edges).toEqual([
    { from: 'a', to: 'b' },
    { from: 'a', to: 'c' },
    { from: 'b', to: 'c' },
  ])
  expect(graph.impliedEdges).toBe(0)
})

test('a fan of a thousand steps is one node between what it comes from and what it goes to', () => {
  const graph = stepGraph(fan(1000))
  expect(graph.nodes.map(({ id, steps }) => [id, steps.length])).toEqual([
    ['split', 1],
    ['part0', 1000],
    ['join', 1],
  ])
  expect(graph.edges).toEqual([
    { from: 'split', to: 'part0' },
    { from: 'part0', to: 'join' },
  ])
})

test('fewer siblings than that stay nodes of their own', () => {
  expect(stepGraph(fan(GROUP_FROM - 1)).nodes).toHaveLength(GROUP_FROM + 1)
})

test('steps of different types are never one node', () => {
  const steps = fan(GROUP_FROM).map((each) => (each.step === 'part3' ? { ...each, type: 'map' as const } : each))
  expect(stepGraph(steps).nodes).toHaveLength(GROUP_FROM + 2)
})

test('in a dense graph what follows from other edges is left out, and counted', () => {
  const chain = Array.from({ length: 60 }, (_, index) => step(`s${index}`, ...(index === 0 ? [] : [`s${index - 1}`])))
  const last = step('last', ...chain.map((each) => each.step))
  const graph = stepGraph([...chain, last])
  expect(graph.edges).toHaveLength(60)
  expect(graph.edges).toContainEqual({ from: 's59', to: 'last' })
  expect(graph.impliedEdges).toBe(59)
})

test('a rank is the longest way to a node', () => {
  const { nodes, edges } = stepGraph([step('a'), step('b', 'a'), step('c', 'a', 'b'), step('d')])
  expect(Object.fromEntries(ranksOf(nodes, edges))).toEqual({ a: 0, b: 1, c: 2, d: 0 })
})

test('steps may be called like what every object has', () => {
  const graph = stepGraph([step('constructor'), step('toString', 'constructor')])
  expect(graph.edges).toEqual([{ from: 'constructor', to: 'toString' }])
})
