import { Graph, layout } from '@dagrejs/dagre'
import { type Direction, edgePath, type Point } from './edge-path.ts'
import { type GraphEdge, type GraphNode, ranksOf, type StepGraph } from './step-graph.ts'

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedNode extends GraphNode {
  readonly box: Box
}

export interface DrawnEdge extends GraphEdge {
  /** The `d` of an SVG path. */
  readonly path: string
}

export interface GraphLayout {
  readonly direction: Direction
  readonly width: number
  readonly height: number
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly DrawnEdge[]
}

const NODE_WIDTH = 184
const NODE_HEIGHT = 48
/** Around all, so that outlines of what stands at the rim are not cut. */
const MARGIN = 6
const BETWEEN_RANKS = 44
const BETWEEN_SIBLINGS = 14
/** More boxes than this are no picture any more, and take seconds to place. */
export const MOST_NODES = 300

/**
 * Places the nodes of a graph. Depends on nothing but the graph and the width, so that a run whose state changes keeps its picture.
 * To the right where all ranks fit beside each other, else down.
 *
 * @returns undefined for a graph of too many nodes to draw
 */
export function graphLayout(graph: StepGraph, availableWidth: number): GraphLayout | undefined {
  if (graph.nodes.length > MOST_NODES) return undefined
  const direction = directionFor(graph, availableWidth)
  const ids = new Map(graph.nodes.map(({ id }, index) => [id, String(index)]))
  const placed = new Graph()
  placed.setGraph({
    rankdir: direction === 'right' ? 'LR' : 'TB',
    ranker: 'tight-tree',
    nodesep: BETWEEN_SIBLINGS,
    edgesep: BETWEEN_SIBLINGS,
    ranksep: direction === 'right' ? BETWEEN_RANKS : BETWEEN_RANKS - 16,
    marginx: MARGIN,
    marginy: MARGIN,
  })
  placed.setDefaultEdgeLabel(() => ({}))
  for (const { id } of graph.nodes) placed.setNode(ids.get(id)!, { width: NODE_WIDTH, height: NODE_HEIGHT })
  for (const { from, to } of graph.edges) placed.setEdge(ids.get(from)!, ids.get(to)!)
  layout(placed)

  const nodes = graph.nodes.map((node) => {
    const { x, y } = placed.node(ids.get(node.id)!) as Point
    return { ...node, box: { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2, width: NODE_WIDTH, height: NODE_HEIGHT } }
  })
  const boxes = new Map(nodes.map(({ id, box }) => [id, box]))
  const edges = graph.edges.map(({ from, to }) => {
    const { points } = placed.edge(ids.get(from)!, ids.get(to)!) as { points: readonly Point[] }
    // The ends of dagre's lines are where they cut the box; ours leave and reach its middle.
    const way = [
      exitOf(boxes.get(from)!, direction),
      ...passages(points, direction),
      entryOf(boxes.get(to)!, direction),
    ]
    return { from, to, path: edgePath(way, direction) }
  })
  const size = placed.graph() as { width: number; height: number }
  return { direction, nodes, edges, width: Math.ceil(size.width), height: Math.ceil(size.height) }
}

function directionFor({ nodes, edges }: StepGraph, availableWidth: number): Direction {
  const ranks = Math.max(0, ...ranksOf(nodes, edges).values()) + 1
  return ranks * NODE_WIDTH + (ranks - 1) * BETWEEN_RANKS + 2 * MARGIN <= availableWidth ? 'right' : 'down'
}

/**
 * Where a line passes between the boxes of the ranks on its way, straight. Dagre's lines have a point at each of these ranks and one
 * half way before and behind it, which would bend them where there is no need.
 */
function passages(points: readonly Point[], direction: Direction): readonly Point[] {
  const inner = points.slice(1, -1)
  const half = direction === 'right' ? { x: NODE_WIDTH / 2, y: 0 } : { x: 0, y: NODE_HEIGHT / 2 }
  return inner
    .filter((_, index) => index % 2 === 1)
    .flatMap(({ x, y }) => [
      { x: x - half.x, y: y - half.y },
      { x: x + half.x, y: y + half.y },
    ])
}

function exitOf({ x, y, width, height }: Box, direction: Direction): Point {
  return direction === 'right' ? { x: x + width, y: y + height / 2 } : { x: x + width / 2, y: y + height }
}

function entryOf({ x, y, width, height }: Box, direction: Direction): Point {
  return direction === 'right' ? { x, y: y + height / 2 } : { x: x + width / 2, y }
}
