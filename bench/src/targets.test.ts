import { expect, test } from 'vitest'
import { judge } from './targets.ts'

test('an aim is judged by the median of its row, and left out when it was not measured', () => {
  const labels = { clients: 4, batch: 50, system: 'starflow' }
  const verdicts = judge([
    { name: 'chain', rows: [{ labels, samples: { stepsPerSecond: [1, 17_000, 99_000] } }] },
    { name: 'stalled', rows: [{ labels: { 'active runs': 100_000, system: 'starflow' }, samples: { foundMs: [80] } }] },
  ])
  expect(verdicts.map(({ isReached, text }) => ({ isReached, text }))).toEqual([
    { isReached: true, text: 'reached  chain, 4 clients, batch 50: steps/s: 17000 (at least 16000)' },
    { isReached: false, text: 'MISSED   stalled tasks among 100 000 active runs: ms: 80.0 (at most 50)' },
  ])
})
