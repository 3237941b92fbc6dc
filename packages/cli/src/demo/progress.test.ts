import pc from 'picocolors'
import { expect, test } from 'vitest'
import { describeOpenWork, hasAdvanced, type Progress, type QueueProgress } from './progress.ts'
import { createProgressDisplay, describeStranded, progressBar, progressTable } from './progress-display.ts'

const queue = (more: Partial<QueueProgress> = {}): QueueProgress => ({
  step: 'parse',
  queue: 'readmeindexv1__parse',
  queued: 3,
  inFlight: 2,
  done: 1_200,
  attempts: 5,
  liveWorkers: 1,
  ...more,
})
const progress = (more: Partial<Progress> = {}): Progress => ({
  runs: { started: 2, completed: 5, failed: 1 },
  queues: [queue()],
  stranded: null,
  ...more,
})

test('work that moves is progress, a worker that comes is not', () => {
  const before = progress()
  expect(hasAdvanced(before, progress({ queues: [queue({ attempts: 6 })] }))).toBe(true)
  expect(hasAdvanced(before, progress({ runs: { started: 1, completed: 6, failed: 1 } }))).toBe(true)
  expect(hasAdvanced(before, progress({ queues: [queue({ liveWorkers: 0 })] }))).toBe(false)
})

test('what is stuck is named by queue', () => {
  const idle = queue({ queue: 'readmeindexv1__index', queued: 0, inFlight: 0 })
  expect(describeOpenWork(progress({ queues: [queue({ liveWorkers: 0 }), idle] }))).toBe(
    '2 runs are open; readmeindexv1__parse: 3 queued, 2 in flight, 0 live workers',
  )
  expect(describeOpenWork(progress({ queues: [idle] }))).toBe('2 runs are open; no task is open')
})

test('the bar fills with the runs that ended, failed ones too', () => {
  expect(progressBar(progress(), 9_100)).toBe(`${'█'.repeat(24)}${'░'.repeat(8)}  6 of 8 documents, 1 failed  9.1 s`)
  expect(progressBar(progress({ runs: { started: 0, completed: 0, failed: 0 } }), 0)).toContain('0 of 0')
})

test('the table has one aligned row per queue', () => {
  expect(progressTable(progress())).toEqual([
    'queue                 queued  in flight   done  workers',
    'readmeindexv1__parse       3          2  1,200        1',
  ])
})

test('while tasks of killed workers are awaited, the display says until when', () => {
  expect(describeStranded(progress())).toBeUndefined()
  expect(describeStranded(progress({ stranded: { tasks: 10, backInSeconds: 21 } }))).toBe(
    'waiting: 10 tasks of killed workers come back in 21 s',
  )
  expect(describeStranded(progress({ stranded: { tasks: 1, backInSeconds: 0 } }))).toBe(
    'waiting: 1 task of a killed worker comes back now',
  )
  const lines: string[] = []
  const display = createProgressDisplay({
    writeLine: (text) => lines.push(text),
    colors: pc.createColors(false),
    printable: (text) => text,
  })
  display.update(progress({ stranded: { tasks: 10, backInSeconds: 21 } }), 0)
  expect(lines[0]).toContain('waiting: 10 tasks of killed workers come back in 21 s')
})

test('a stream that is no terminal gets plain lines now and then, and always the last state', () => {
  const lines: string[] = []
  const display = createProgressDisplay({
    writeLine: (text) => lines.push(text),
    colors: pc.createColors(false),
    printable: (text) => text,
    plainIntervalMs: 5_000,
  })
  display.update(progress(), 0)
  display.update(progress(), 1_000)
  display.update(progress({ runs: { started: 0, completed: 8, failed: 0 } }), 2_000)
  display.done()
  display.done()
  expect(lines).toEqual([
    '0 ms: 6/8 documents; queued/in flight/done: parse 3/2/1200 (1w)',
    '2.0 s: 8/8 documents; queued/in flight/done: parse 3/2/1200 (1w)',
  ])
  expect(lines.join('')).not.toContain('\u001b')
})
