/** A step as a graph shows it. */
export interface GraphStep {
  readonly step: string
  readonly type: 'single' | 'map' | 'wait'
  readonly dependsOn: readonly string[]
}

/** What is drawn as one box: a step, or many that stand at the same place of the flow. */
export interface GraphNode {
  /** The step's slug; of a group, that of its first step, which no other node has. */
  readonly id: string
  readonly steps: readonly GraphStep[]
}

export interface GraphEdge {
  readonly from: string
  readonly to: string
}

export interface StepGraph {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  /** Dependencies that are not among the edges, since a longer way between the same nodes is. */
  readonly impliedEdges: number
}

/** As many steps with the same dependencies and the same dependents are drawn as one box. */
export const GROUP_FROM = 12
/** Edges that pass this many other ranks in all hide more than they show, and cost seconds to lay out. */
const MOST_RANKS_PASSED = 250

/**
 * The graph of a flow, as far as it can be looked at: fans become one box, and in a dense graph what follows from other edges is
 * left out. Made from the shape alone, so that what happens in a run moves nothing.
 */
export function stepGraph(steps: readonly GraphStep[]): StepGraph {
  const nodes = groupSiblings(steps)
  const nodeOf = new Map(nodes.flatMap((node) => node.steps.map(({ step }) => [step, node.id] as const)))
  const edges = uniqueEdges(
    steps.flatMap(({ step, dependsOn }) =>
      dependsOn.flatMap((from) => (nodeOf.has(from) ? [{ from: nodeOf.get(from)!, to: nodeOf.get(step)! }] : [])),
    ),
  )
  if (ranksPassed(nodes, edges) <= MOST_RANKS_PASSED) return { nodes, edges, impliedEdges: 0 }
  const needed = withoutImplied(nodes, edges)
  return { nodes, edges: needed, impliedEdges: edges.length - needed.length }
}

/** How deep each node stands: the number of edges on the longest way to it. */
export function ranksOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): ReadonlyMap<string, number> {
  const ranks = new Map<string, number>()
  for (const node of inOrder(nodes, edges)) {
    const above = edges.filter(({ to }) => to === node.id).map(({ from }) => ranks.get(from)! + 1)
    ranks.set(node.id, Math.max(0, ...above))
  }
  return ranks
}

function groupSiblings(steps: readonly GraphStep[]): GraphNode[] {
  const dependents = new Map<string, string[]>(steps.map(({ step }) => [step, []]))
  for (const { step, dependsOn } of steps) for (const from of dependsOn) dependents.get(from)?.push(step)
  const places = new Map<string, GraphStep[]>()
  for (const each of steps) {
    const place = JSON.stringify([each.type, [...each.dependsOn].sort(), dependents.get(each.step)!.sort()])
    places.set(place, [...(places.get(place) ?? []), each])
  }
  return [...places.values()].flatMap((same) =>
    same.length >= GROUP_FROM
      ? [{ id: same[0]!.step, steps: same }]
      : same.map((each) => ({ id: each.step, steps: [each] })),
  )
}

function uniqueEdges(edges: readonly GraphEdge[]): GraphEdge[] {
  return [...new Map(edges.map((edge) => [`${edge.from} ${edge.to}`, edge])).values()]
}

function ranksPassed(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): number {
  const ranks = ranksOf(nodes, edges)
  return edges.reduce((sum, { from, to }) => sum + ranks.get(to)! - ranks.get(from)! - 1, 0)
}

/** Edges without those beside which there is a longer way. */
function withoutImplied(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): GraphEdge[] {
  const sources = new Map<string, string[]>()
  for (const { from, to } of edges) sources.set(to, [...(sources.get(to) ?? []), from])
  const ancestors = new Map<string, Set<string>>()
  for (const { id } of inOrder(nodes, edges)) {
    const all = new Set<string>()
    for (const from of sources.get(id) ?? []) {
      all.add(from)
      for (const further of ancestors.get(from)!) all.add(further)
    }
    ancestors.set(id, all)
  }
  return edges.filter(
    ({ from, to }) => !sources.get(to)!.some((other) => other !== from && ancestors.get(other)!.has(from)),
  )
}

/** Nodes with what they depend on before them; a flow has no cycles. */
function inOrder(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): GraphNode[] {
  const open = new Map(nodes.map(({ id }) => [id, 0]))
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) {
    open.set(to, open.get(to)! + 1)
    next.set(from, [...(next.get(from) ?? []), to])
  }
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const ordered = nodes.filter(({ id }) => open.get(id) === 0)
  for (const { id } of ordered) {
    for (const to of next.get(id) ?? []) {
      open.set(to, open.get(to)! - 1)
      if (open.get(to) === 0) ordered.push(byId.get(to)!)
    }
  }
  return ordered
}
