import { median } from './measure/quantile.ts'
import type { Row } from './report/row.ts'

/** One aim of the project beside what was measured. */
export interface Verdict {
  readonly aim: string
  readonly measured: number
  readonly wanted: number
  readonly isReached: boolean
  readonly text: string
}

interface Aim {
  readonly aim: string
  readonly kind: 'at least' | 'at most'
  readonly wanted: number
  readonly digits?: number
  /** NaN when its scenario or row did not run. */
  measure(figure: Lookup): number
}

/** The median of one figure in one row. */
type Lookup = (scenario: string, labels: Row['labels'], figure: string) => number

const OURS = { system: 'starflow' }

const AIMS: readonly Aim[] = [
  ...[
    { batch: 1, wanted: 1500 },
    { batch: 10, wanted: 7500 },
    { batch: 50, wanted: 16_000 },
  ].map(
    ({ batch, wanted }): Aim => ({
      aim: `chain, 4 clients, batch ${batch}: steps/s`,
      kind: 'at least',
      wanted,
      measure: (figure) => figure('chain', { clients: 4, batch, ...OURS }, 'stepsPerSecond'),
    }),
  ),
  ...[10, 50].map(
    (batch): Aim => ({
      aim: `chain, batch ${batch}, events off: WAL bytes per step`,
      kind: 'at most',
      wanted: 3072,
      measure: (figure) => figure('events', { batch, events: 'off' }, 'walPerStep'),
    }),
  ),
  {
    aim: 'bulk start: runs/s',
    kind: 'at least',
    wanted: 25_000,
    measure: (figure) => figure('bulk-start', { steps: 3, ...OURS }, 'startsPerSecond'),
  },
  {
    aim: 'map of 10 000, batch 50: tasks/s',
    kind: 'at least',
    wanted: 12_000,
    measure: (figure) => figure('map', { elements: 10_000, batch: 50, ...OURS }, 'tasksPerSecond'),
  },
  {
    // Ten times the time would be linear; a fifth more is noise.
    aim: 'map, batch 50: time of 10 000 elements, in times of 1 000',
    kind: 'at most',
    wanted: 12,
    digits: 1,
    measure: (figure) =>
      figure('map', { elements: 10_000, batch: 50, ...OURS }, 'msPerRun') /
      figure('map', { elements: 1000, batch: 50, ...OURS }, 'msPerRun'),
  },
  {
    aim: 'chain, 4 clients, batch 10: times the steps/s of DBOS, starts included',
    kind: 'at least',
    wanted: 5,
    digits: 1,
    measure: (figure) =>
      figure('chain', { clients: 4, batch: 10, ...OURS }, 'allInStepsPerSecond') /
      figure('chain', { clients: 4, batch: 10, system: 'dbos' }, 'allInStepsPerSecond'),
  },
  {
    aim: 'single steps, 4 clients, batch 10: times the jobs/s of graphile-worker at its defaults',
    kind: 'at least',
    wanted: 1,
    digits: 1,
    measure: (figure) =>
      figure('jobs', { clients: 4, batch: 10, ...OURS }, 'stepsPerSecond') /
      figure('jobs', { clients: 4, batch: 10, system: 'graphile-worker' }, 'stepsPerSecond'),
  },
  {
    aim: '20 idle queues: Postgres, % of a core',
    kind: 'at most',
    wanted: 1,
    digits: 2,
    measure: (figure) => figure('idle-queues', { queues: 20, system: 'starflow, Node workers' }, 'postgresShare') * 100,
  },
  ...[10, 50].map(
    (batch): Aim => ({
      aim: `a held-open snapshot, batch ${batch}: part of the throughput that is left`,
      kind: 'at least',
      wanted: 0.5,
      digits: 2,
      measure: (figure) =>
        figure('snapshot', { batch, ...OURS, held: 'yes' }, 'stepsPerSecond') /
        figure('snapshot', { batch, ...OURS, held: 'no' }, 'stepsPerSecond'),
    }),
  ),
  {
    aim: 'stalled tasks among 100 000 active runs: ms',
    kind: 'at most',
    wanted: 50,
    digits: 1,
    measure: (figure) => figure('stalled', { 'active runs': 100_000, ...OURS }, 'foundMs'),
  },
  ...['watched, by nobody', 'watched, 1 %'].map(
    (events): Aim => ({
      aim: `events ${events}, batch 10: Postgres time per step against off`,
      kind: 'at most',
      wanted: 1.03,
      digits: 3,
      measure: (figure) =>
        figure('events', { batch: 10, events }, 'postgresUsPerStep') /
        figure('events', { batch: 10, events: 'off' }, 'postgresUsPerStep'),
    }),
  ),
  ...(['Node', 'Deno'] as const).map(
    (runtime): Aim => ({
      aim: `real workers in ${runtime} under load: tasks settled per call`,
      kind: 'at least',
      wanted: 5,
      digits: 1,
      measure: (figure) => figure('workers', { batch: 10, system: `starflow, ${runtime} workers` }, 'settledPerCall'),
    }),
  ),
]

/** What the project set out to reach, and what was measured. Aims whose scenario did not run are left out. */
export function judge(results: readonly { readonly name: string; readonly rows: readonly Row[] }[]): Verdict[] {
  const lookup: Lookup = (scenario, labels, figure) => {
    const row = results
      .find(({ name }) => name === scenario)
      ?.rows.find((each) => Object.entries(labels).every(([label, value]) => each.labels[label] === value))
    return median(row?.samples[figure] ?? [])
  }
  return AIMS.flatMap(({ aim, kind, wanted, digits = 0, measure }): Verdict[] => {
    const measured = measure(lookup)
    if (Number.isNaN(measured)) return []
    const isReached = kind === 'at least' ? measured >= wanted : measured <= wanted
    const text = `${isReached ? 'reached' : 'MISSED '}  ${aim}: ${measured.toFixed(digits)} (${kind} ${wanted})`
    return [{ aim, measured, wanted, isReached, text }]
  })
}
