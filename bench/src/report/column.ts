/** How a figure is shown. The first line of a table is its `title`. */
export interface Column {
  readonly figure: string
  readonly title: string
  readonly digits?: number
  readonly as?: 'number' | 'percent'
}

export const COLUMNS = {
  stepsPerSecond: { figure: 'stepsPerSecond', title: 'steps/s' },
  allInStepsPerSecond: { figure: 'allInStepsPerSecond', title: 'with start' },
  startsPerSecond: { figure: 'startsPerSecond', title: 'starts/s' },
  walPerStep: { figure: 'walPerStep', title: 'WAL B/step' },
  allInWalPerStep: { figure: 'allInWalPerStep', title: 'with start' },
  postgresUsPerStep: { figure: 'postgresUsPerStep', title: 'Postgres µs/step' },
  clientUsPerStep: { figure: 'clientUsPerStep', title: 'client µs/step' },
  deadTuples: { figure: 'deadTuples', title: 'dead tuples' },
  hotRatio: { figure: 'hotRatio', title: 'HOT', as: 'percent' },
} as const satisfies Record<string, Column>

export function formatFigure(value: number, { as = 'number', digits = 0 }: Column): string {
  if (Number.isNaN(value)) return '–'
  if (as === 'percent') return `${(value * 100).toFixed(digits)} %`
  return value
    .toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
    .replaceAll(',', ' ')
}
