import { StarflowError } from '@starflow/errors'
import type { FunctionsEvent } from '@starflow/local'
import { expect, test, vi } from 'vitest'
import { createOutput } from '../output/output.ts'
import type { AttemptOutcome } from './attempt-outcome.ts'
import { DevLog } from './dev-log.ts'

const RUN = '01a2b3c4-0000-7000-8000-000000000000'

function startLog(options: { verbose?: boolean; outcome?: AttemptOutcome } = {}) {
  const lines: string[] = []
  const write = (text: string) => lines.push(...text.trimEnd().split('\n'))
  const log = new DevLog({
    output: createOutput({ json: false }, { stdout: { write }, stderr: { write } }),
    root: '/project',
    verbose: options.verbose ?? false,
    readOutcome: async () => options.outcome,
    restartPatienceMs: 10,
  })
  const worker = (line: object) =>
    log.show({
      ...{ type: 'function.log', name: 'orders__0__price', id: 'x', level: 'info' },
      line: JSON.stringify({ functionName: 'orders__0__price', stepSlug: 'price', ...line }),
    } as FunctionsEvent)
  const listening = (name: string) => log.show({ type: 'function.listening', name, id: name, pid: 1, bootMs: 1 })
  const reloaded = (...functions: string[]) =>
    log.show({ type: 'functions.reloaded', path: '/project/_flows/orders.ts', functions })
  return { log, lines, worker, listening, reloaded }
}

const bootFailure = (name: string, detail = 'a is not defined'): FunctionsEvent => ({
  ...{ type: 'function.boot_failed', name, id: name },
  error: new StarflowError({
    code: 'SF511',
    message: `${name} does not boot.`,
    detail,
    fields: { file: 'a.ts', line: 1 },
  }),
})

test('what a handler says is one short line: step, message, run and attempt', () => {
  const { lines, worker } = startLog()
  worker({ level: 'info', event: 'handler.log', message: 'pricing a', runId: RUN, taskIndex: 0, attempt: 1 })
  worker({
    level: 'warn',
    event: 'handler.log',
    message: 'slow',
    details: [{ ms: 9 }],
    runId: RUN,
    taskIndex: 2,
    attempt: 3,
  })
  expect(lines).toEqual([
    'price  pricing a  (run 01a2b3c4…, attempt 1)',
    'price  WARN slow  {"ms":9}  (run 01a2b3c4…, element 2, attempt 3)',
  ])
})

test('the life of workers is shown with --verbose only, their trouble always', () => {
  for (const verbose of [false, true]) {
    const { lines, worker } = startLog({ verbose })
    worker({ level: 'info', event: 'worker.started', maxConcurrent: 10 })
    worker({ level: 'debug', event: 'task.completed', runId: RUN, taskIndex: 0, attempt: 1 })
    worker({ level: 'warn', event: 'worker.step_timeout_long', timedStep: 'price' })
    expect(lines.length).toBe(verbose ? 3 : 1)
    expect(lines.at(-1)).toBe('price  WARN worker.step_timeout_long timedStep=price')
  }
})

test('a message that no task knows is told with its queue and where to look', () => {
  const { lines, worker } = startLog()
  const queueName = 'orders__price'
  worker({
    level: 'warn',
    event: 'message.unsupported',
    queueName,
    messageId: '7',
    messageFlowSlug: null,
    readCount: 1,
  })
  worker({ level: 'error', event: 'worker.halted', queueName, messageIds: ['7', '9'] })
  expect(lines).toEqual([
    'price  WARN message 7 in orders__price belongs to no task of this worker and is left there. See: npx starflow queues unsupported',
    'price  ERROR messages 7, 9 in orders__price: no task of this worker knows them, and its function is disabled. See: npx starflow queues unsupported',
  ])
})

test('a failed attempt is told with its message, the place in the project and the retry', async () => {
  const errorStack = [
    'RangeError: too dear',
    '    at price (file:///project/node_modules/money/index.js:1:1)',
    '    at handler (file:///project/_flows/orders.ts:12:5)',
  ].join('\n')
  const { lines, worker } = startLog({
    outcome: { errorStack, maxAttempts: 3, retryInSeconds: 4.2 },
  })
  const failed = { level: 'warn', event: 'task.failed', runId: RUN, taskIndex: 0, attempt: 1 }
  worker({ ...failed, errorName: 'RangeError', errorMessage: 'too dear' })
  await vi.waitUntil(() => lines.length > 0, { timeout: 60_000 })
  expect(lines).toEqual([
    'price  ERROR failed: RangeError: too dear  (run 01a2b3c4…, attempt 1)',
    '  at _flows/orders.ts:12:5',
    '  retry 2 of 3 in 5 s',
  ])
})

test('a run that ends is one line, without what went in and came out', () => {
  const { log, lines } = startLog()
  const run = { runId: RUN, flowSlug: 'orders', endedAt: '', durationMs: 1_240, failedStep: null }
  log.showEnded([
    { ...run, status: 'completed' },
    { ...run, status: 'failed', failedStep: 'price' },
    { ...run, status: 'failed' },
  ])
  expect(lines).toEqual([
    'orders  run 01a2b3c4… completed in 1.2 s',
    'orders  ERROR run 01a2b3c4… failed at step price after 1.2 s',
    'orders  ERROR run 01a2b3c4… failed after 1.2 s',
  ])
})

test('many runs that end at about the same time are counted', () => {
  const { log, lines } = startLog()
  const runs = Array.from({ length: 30 }, (_, index) => ({
    ...{ runId: RUN, flowSlug: 'orders', endedAt: '', durationMs: 1, failedStep: null },
    status: index < 28 ? ('completed' as const) : ('failed' as const),
  }))
  log.showEnded(runs)
  expect(lines).toEqual(['orders  28 runs completed', 'orders  ERROR 2 runs failed'])
})

test('runs that a recompilation deleted are a warning of their own, and none at all are not mentioned', () => {
  const { lines, worker } = startLog()
  for (const count of [0, 7]) {
    const message = `${count} runs of the old definition were deleted with their queues`
    worker({ level: 'info', event: 'flow.option', message })
  }
  expect(lines).toEqual(['price  WARN local only: 7 runs of the old definition were deleted with their queues'])
})

test('a restart of all workers is one line', () => {
  const { lines, listening, reloaded } = startLog()
  reloaded('one', 'two')
  listening('one')
  expect(lines).toEqual([])
  listening('two')
  listening('two')
  expect(lines).toEqual([expect.stringMatching(/^orders\.ts changed: 2 workers restarted in \d/)])
})

test('a generation that follows an edit is the same restart, and functions that start meanwhile are none of it', () => {
  const { lines, listening, reloaded } = startLog()
  reloaded('one', 'two')
  listening('one')
  reloaded('one')
  listening('three')
  listening('two')
  expect(lines).toEqual([])
  listening('one')
  expect(lines).toEqual([expect.stringContaining('2 workers restarted')])
})

test('a change that concerns no function that runs is not told', () => {
  const { lines, listening, reloaded } = startLog()
  reloaded()
  listening('new')
  expect(lines).toEqual([])
})

test('workers that never come back do not keep the others from being told', async () => {
  const { lines, listening, reloaded } = startLog()
  reloaded('one', 'two')
  listening('one')
  await vi.waitUntil(() => lines.length > 0, { timeout: 60_000 })
  expect(lines[0]).toContain('1 worker restarted')
})

test('functions that do not boot say nothing while the flow modules are known to be broken', () => {
  const { log, lines, reloaded } = startLog()
  log.checking()
  reloaded('one', 'two')
  log.show(bootFailure('one'))
  log.checked({ isBroken: true })
  log.show(bootFailure('two'))
  expect(lines).toEqual([])
})

test('a mistake that keeps many functions from booting is told once, with what to do here', () => {
  const { log, lines } = startLog()
  log.checking()
  for (const name of ['one', 'two', 'gone']) log.show(bootFailure(name))
  log.show(bootFailure('gone', 'its step is gone'))
  log.checked({ isBroken: false, functions: ['one', 'two'] })
  log.show(bootFailure('one'))
  expect(lines).toEqual([
    'error SF511: one does not boot.',
    '  detail: a is not defined',
    '  hint: Save the file again; the workers restart by themselves.',
  ])
})

test('started settles with the last worker, and is false when one never starts', async () => {
  const { log, worker } = startLog()
  const all = log.started(['orders__0__price'], 10_000)
  worker({ level: 'info', event: 'worker.started' })
  expect(await all).toBe(true)
  expect(await log.started(['orders__0__price', 'other'], 1)).toBe(false)
})
