import fc from 'fast-check'
import { expect, test } from 'vitest'
import { edgePath } from './edge-path.ts'
import { type Box, graphLayout, MOST_NODES } from './graph-layout.ts'
import { type GraphStep, stepGraph } from './step-graph.ts'

function step(slug: string, ...dependsOn: string[]): GraphStep {
  return { step: slug, type: 'single', dependsOn }
}
const chain = (length: number) =>
  Array.from({ length }, (_, index) => step(`s${index}`, ...(index === 0 ? [] : [`s${index - 1}`])))

/** Random flows: each step depends on some of those before it. */
const flows = fc
  .array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 25 })
  .map((picks) =>
    picks.map((pick, index) =>
      step(`s${index}`, ...new Set(index === 0 ? [] : pick.map((number) => `s${number % index}`))),
    ),
  )

test('no two nodes overlap, all are within the picture, and every node is behind what it depends on', () => {
  fc.assert(
    fc.property(flows, fc.constantFrom(340, 5000), (steps, width) => {
      const placed = graphLayout(stepGraph(steps), width)!
      const boxes = placed.nodes.map(({ box }) => box)
      for (const box of boxes) {
        expect(box.x >= 0 && box.y >= 0).toBe(true)
        expect(box.x + box.width <= placed.width && box.y + box.height <= placed.height).toBe(true)
        expect(boxes.filter((other) => overlap(box, other))).toEqual([box])
      }
      const boxOf = new Map(placed.nodes.map(({ id, box }) => [id, box]))
      for (const { from, to } of placed.edges) {
        const [a, b] = [boxOf.get(from)!, boxOf.get(to)!]
        expect(placed.direction === 'right' ? b.x > a.x + a.width : b.y > a.y + a.height).toBe(true)
      }
    }),
    { numRuns: 40 },
  )
})

test('the same flow has the same picture every time', () => {
  fc.assert(
    fc.property(flows, (steps) => {
      expect(graphLayout(stepGraph(steps), 900)).toEqual(graphLayout(stepGraph(structuredClone(steps)), 900))
    }),
    { numRuns: 15 },
  )
})

test('a graph grows to the right where it fits, else down', () => {
  expect(graphLayout(stepGraph(chain(4)), 1000)?.direction).toBe('right')
  const narrow = graphLayout(stepGraph(chain(4)), 340)!
  expect(narrow.direction).toBe('down')
  expect(narrow.width).toBeLessThanOrEqual(340)
  expect(graphLayout(stepGraph(chain(200)), 1400)?.direction).toBe('down')
})

test('a graph of too many nodes is not drawn', () => {
  expect(graphLayout(stepGraph(chain(MOST_NODES + 1)), 1000)).toBeUndefined()
})

test('a line is straight where its ends are level, and else bends into its direction', () => {
  const level = [
    { x: 0, y: 10 },
    { x: 40, y: 10 },
  ]
  expect(edgePath(level, 'right')).toBe('M0 10 L40 10')
  const [from] = level
  expect(edgePath([from!, { x: 40, y: 30 }], 'right')).toBe('M0 10 C20 10 20 30 40 30')
  expect(edgePath([from!, { x: 40, y: 30 }], 'down')).toBe('M0 10 C0 20 40 20 40 30')
})

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}
