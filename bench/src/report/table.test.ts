import { expect, test } from 'vitest'
import { Rows } from './row.ts'
import { table } from './table.ts'

test('a table shows the median of all rounds, aligned, and a dash where a figure does not apply', () => {
  const rows = new Rows()
  for (const steps of [900, 12_345.6, 11_000]) {
    rows.add({ batch: 10, system: 'ours' }, { steps, hot: 0.755 })
    rows.add({ batch: 10, system: 'theirs' }, { steps: steps / 100, hot: Number.NaN })
  }
  expect(
    table(rows.all, [
      { figure: 'steps', title: 'steps/s' },
      { figure: 'hot', title: 'HOT', as: 'percent' },
    ]),
  ).toBe(
    [
      '| batch | system | steps/s |  HOT |',
      '| ----- | ------ | ------: | ---: |',
      '| 10    | ours   |  11 000 | 76 % |',
      '| 10    | theirs |     110 |    – |',
    ].join('\n'),
  )
})
