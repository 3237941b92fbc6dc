import { expect, test } from 'vitest'
import { formatDuration } from '../output/text-table.ts'
import { summarize, summaryLines } from './summary.ts'

const facts = {
  completed: 18,
  failed: 1,
  seconds: 12.345,
  brokenLinks: 7,
  documentsWithBrokenLinks: 1,
  queues: [
    { queue: 'q__parse', step: 'parse', tasks: 20, attempts: 24, waitP50Ms: 12, waitP95Ms: 1_530 },
    { queue: 'q__report', step: 'report', tasks: 0, attempts: 0, waitP50Ms: null, waitP95Ms: null },
  ],
}
const demo = { documents: 20, skippedDocuments: 2, chaos: true, killed: 5, cpuMs: 50 }

test('every document without a run that ended is lost', () => {
  expect(summarize(facts, demo)).toMatchObject({ runs: 20, completed: 18, failed: 1, lost: 1 })
  expect(summarize({ ...facts, completed: 19 }, demo).lost).toBe(0)
})

test('tasks, extra attempts and CPU are totals over the queues', () => {
  expect(summarize(facts, demo)).toMatchObject({
    tasks: 20,
    extraAttempts: 4,
    cpuMsPerTask: 2.5,
    seconds: 12.35,
    killed: 5,
  })
  expect(summarize(facts, { ...demo, cpuMs: undefined }).cpuMsPerTask).toBeNull()
})

test('the table tells a person all of it', () => {
  expect(summaryLines(summarize(facts, demo))).toEqual([
    'queue      tasks  attempts  wait p50  wait p95',
    'q__parse      20        24     12 ms     1.5 s',
    'q__report      0         0         -         -',
    'wait: from queued to started. All documents are queued at once: that of the',
    'first step is the backlog.',
    '',
    'runs          18 completed, 1 failed, 1 lost',
    'tasks         20 in 12.3 s (2 tasks/s)',
    'broken links  7 in 1 document: only these have a report',
    'CPU per task  2.5 ms in the worker functions, without their boot',
    'skipped       2 documents',
    'chaos         5 workers killed, at a cost of 4 extra attempts',
  ])
})

test('a chaos that killed fewer than it promises says so, also when it killed none', () => {
  const chaosLine = (killed: number) => summaryLines(summarize(facts, { ...demo, killed })).at(-1)
  expect(chaosLine(1)).toBe('chaos         only 1 worker killed: the work was done before 5 were')
  expect(chaosLine(0)).toContain('only 0 workers killed')
  expect(summaryLines(summarize(facts, { ...demo, chaos: false, killed: 0 })).join()).not.toContain('chaos')
})

test('no line is wider than 80 columns', () => {
  const queues = [{ ...facts.queues[0]!, queue: 'readmeindexv1__checklinks' }]
  for (const killed of [0, 5]) {
    const lines = summaryLines(summarize({ ...facts, queues, brokenLinks: 12_345 }, { ...demo, killed }))
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80)
  }
})

test('durations read well at every size', () => {
  expect([340, 4_210, 59_940, 59_960, 125_000].map(formatDuration)).toEqual([
    '340 ms',
    '4.2 s',
    '59.9 s',
    '1 min 00 s',
    '2 min 05 s',
  ])
})
