/** An event of a run, as the API tells it. */
export interface RunEvent {
  readonly id: string
  readonly type: string
  /** The step, or `step[3]` for an element of a map; null: the run. */
  readonly node: string | null
  readonly at: string
  readonly payload: Readonly<Record<string, unknown>> | null
}

/** A line of the list of events: one event, or what happened to many elements of a map. */
export type EventGroup =
  | { readonly kind: 'event'; readonly event: RunEvent }
  | {
      readonly kind: 'elements'
      readonly step: string
      readonly events: readonly RunEvent[]
      /** How many of each type, in the order in which they came first. */
      readonly counts: ReadonlyMap<string, number>
    }

/** Fewer events of a map's elements than this are told one by one. */
export const GROUP_FROM = 4

/**
 * The events of a run, with those of the elements of one map gathered between what happened to the run and its other steps: a map
 * of ten thousand tells its story in a line. A group stands where its first event does.
 */
export function eventGroups(events: readonly RunEvent[]): readonly EventGroup[] {
  const groups: EventGroup[] = []
  let elements = new Map<string, RunEvent[]>()
  const close = () => {
    for (const [step, own] of elements) groups.push(...groupsOf(step, own))
    elements = new Map()
  }
  for (const event of events) {
    const step = mapStepOf(event.node)
    if (step === null) {
      close()
      groups.push({ kind: 'event', event })
    } else {
      const own = elements.get(step)
      if (own === undefined) elements.set(step, [event])
      else own.push(event)
    }
  }
  close()
  return groups
}

/** The step of a node that is an element of a map; null for every other node. */
function mapStepOf(node: string | null): string | null {
  return node === null ? null : (/^(.+)\[\d+\]$/.exec(node)?.[1] ?? null)
}

function groupsOf(step: string, events: readonly RunEvent[]): EventGroup[] {
  if (events.length < GROUP_FROM) return events.map((event) => ({ kind: 'event', event }))
  const counts = new Map<string, number>()
  for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [{ kind: 'elements', step, events, counts }]
}
