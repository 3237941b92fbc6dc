import type { FlowSummary } from './flow-queries.ts'

/** A flow among its versions. */
export interface ListedFlow {
  readonly flow: FlowSummary
  /** No version of it has a higher number. */
  readonly isNewest: boolean
}

/** Flows by family, the versions of each with the newest first. */
export function byFamily(flows: readonly FlowSummary[]): readonly ListedFlow[] {
  const newest = new Map<string, number>()
  for (const { family, version } of flows) newest.set(family, Math.max(newest.get(family) ?? -1, version ?? 0))
  return flows
    .toSorted((a, b) => compare(a.family, b.family) || (b.version ?? 0) - (a.version ?? 0) || compare(a.flow, b.flow))
    .map((flow) => ({ flow, isNewest: (flow.version ?? 0) === newest.get(flow.family) }))
}

/** The other versions of a flow, the newest first. */
export function otherVersions(flows: readonly FlowSummary[], flow: FlowSummary): readonly ListedFlow[] {
  return byFamily(flows).filter((each) => each.flow.family === flow.family && each.flow.flow !== flow.flow)
}

/** How a version stands: the newest one, or how far an older one is from its end. */
export function standingText({ flow: { drain }, isNewest }: ListedFlow): string {
  if (isNewest) return 'newest'
  if (drain === null) return 'older'
  return drain.isDrained ? 'older, drained' : 'older, draining'
}

/** Where runs of a flow go, in words; the default first. */
export function placementsText({ placements, queueMode }: Pick<FlowSummary, 'placements' | 'queueMode'>): string {
  const queues = queueMode === 'step' ? 'step queues' : 'one queue'
  return placements.map((placement) => (placement === 'queue' ? queues : 'runners')).join(', ') || 'nothing yet'
}

/** Whether a text stands in the slug of a flow or of one of its steps. */
export function fitsText({ flow, steps }: FlowSummary, text: string): boolean {
  const wanted = text.trim().toLowerCase()
  return flow.toLowerCase().includes(wanted) || steps.some(({ step }) => step.toLowerCase().includes(wanted))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
