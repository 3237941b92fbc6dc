import type { JsonObject, SkipMode } from '@starflow/dsl'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { type Command, checkHistory, type History, PASSES, type ReportChoice, TooSlow } from './support/model-check.ts'
import { MAX_REQUEUES, WAIT_SECONDS } from './support/run-model.ts'
import type { StepSketch } from './support/shape.ts'
import { setWaitKey } from './support/wait-tokens.ts'

const database = await testDatabase()
const { sql } = database

/** For longer runs: `TIME_LIMIT=600 SEED=7 npx vitest run packages/core/tests/model.test.ts`, in seconds, or `RUNS=5000`. */
const { RUNS, TIME_LIMIT, SEED } = process.env
const TIME_LIMIT_MS = RUNS === undefined ? Number(TIME_LIMIT ?? 14) * 1000 : 24 * 60 * 60_000
const RUNS_AT_LEAST = 20
/** What each comes up in one history of twenty or more. */
const COMMON_FACTS = [
  ...['started', 'completed', 'failed', 'cancelled'].map((status) => `run ${status}`),
  ...['created', 'failed', 'condition_unmet', 'handler_failed', 'dependency_skipped'].map((status) => `step ${status}`),
  ...['queued', 'started', 'waiting', 'completed', 'failed', 'skipped', 'cancelled'].map((status) => `task ${status}`),
  ...['failed', 'stalled', 'cancelled'].map((reason) => `attempt ${reason}`),
  ...['claimed', 'running', 'recovered'].map((verdict) => `message ${verdict}`),
  ...['accepted', 'refused'].map((verdict) => `report ${verdict}`),
  ...['accepted', 'already_resumed', 'run_ended'].map((outcome) => `resume ${outcome}`),
]

const skipMode = fc.constantFrom<SkipMode>('fail', 'skip', 'skip-cascade')
const choice = fc.nat({ max: 47 })

/** What conditions ask for: it happens to be in some of the inputs and outputs of ./support/model-check.ts. */
const rootPattern = fc.constantFrom<JsonObject>({ yes: true }, { n: 1 }, {})
const valuePattern = fc.constantFrom<JsonObject[string]>({ ok: true }, 1, null, [], [{ ok: true }])

const steps: fc.Arbitrary<Record<string, StepSketch>> = fc
  .array(
    fc.record({
      after: fc.array(fc.nat({ max: 5 }), { maxLength: 3 }),
      map: fc.boolean(),
      // A wait, with or without a timeout.
      wait: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, fc.constantFrom(null, WAIT_SECONDS)),
      condition: fc.option(fc.record({ isIf: fc.boolean(), dependency: fc.nat(), rootPattern, valuePattern }), {
        freq: 2,
      }),
      whenUnmet: skipMode,
      whenExhausted: skipMode,
      maxAttempts: fc.integer({ min: 1, max: 3 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((sketches) =>
    Object.fromEntries(
      sketches.map(({ after, map: mayMap, wait, condition, maxAttempts, ...modes }, index) => {
        // The first step is none, so that there is always something to claim.
        const isWait = wait !== undefined && index > 0
        const map = mayMap && !isWait
        const dependencies = [...new Set(after.filter((n) => n < index))].map((n) => `s${n}`)
        const mapped = map ? dependencies.slice(0, 1) : dependencies
        const pattern = condition === null ? undefined : patternOf(condition, mapped)
        return [
          `s${index}`,
          {
            ...modes,
            after: mapped,
            ...(isWait ? { wait: true, ...(wait !== null && { timeout: wait }) } : { map, maxAttempts }),
            ...(pattern === undefined ? {} : condition!.isIf ? { if: pattern } : { ifNot: pattern }),
          },
        ]
      }),
    ),
  )

function patternOf(
  condition: { dependency: number; rootPattern: JsonObject; valuePattern: JsonObject[string] },
  dependencies: readonly string[],
): JsonObject {
  if (dependencies.length === 0) return condition.rootPattern
  return { [dependencies[condition.dependency % dependencies.length]!]: condition.valuePattern }
}

const report = fc.record({
  claim: choice,
  late: fc.constantFrom(false, false, false, true),
  outcome: fc.constantFrom(
    'complete' as const,
    'complete' as const,
    'complete' as const,
    'fail' as const,
    'fail for good' as const,
  ),
  output: choice,
  delay: fc.constantFrom(0, 0, 500),
})

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('start' as const), input: choice }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('start again' as const), run: choice, input: choice }) },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      queue: choice,
      worker: choice,
      qty: fc.constantFrom(1, 3, 100, 100),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      reports: fc.array(report, { minLength: 1, maxLength: 5 }),
      claims: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      claims: fc.array(choice, { minLength: 1, maxLength: 3 }),
      started: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), run: choice, seconds: fc.constantFrom(...PASSES) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('resume' as const), run: choice, wait: choice, payload: choice }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('recover' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), run: choice }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('retry' as const), run: choice }) },
)

const history: fc.Arbitrary<History> = fc.record({
  steps,
  mode: fc.constantFrom('flow' as const, 'step' as const),
  commands: fc
    .array(command, { minLength: 15, maxLength: 50, size: 'max' })
    .map((commands): Command[] => [{ kind: 'start', input: 0 }, ...commands]),
})

beforeAll(async () => {
  await new StarflowSql(sql).setSetting('max_requeues', String(MAX_REQUEUES))
  await setWaitKey(sql)
})

test(
  'whatever is done to runs, the database does what the model says',
  async () => {
    let done = 0
    let current: Promise<ReadonlySet<string>> | undefined
    const seen = new Map<string, number>()
    const check = async (limits: fc.Parameters<[History]>) => {
      const result = await fc.check(
        fc.asyncProperty(history, async (value) => {
          try {
            current = checkHistory(sql, value)
            for (const fact of await current) seen.set(fact, (seen.get(fact) ?? 0) + 1)
            done += 1
          } catch (error) {
            fc.pre(!(error instanceof TooSlow))
            throw error
          }
        }),
        { ...(SEED === undefined ? {} : { seed: Number(SEED) }), ...limits },
      )
      // A limit leaves the history that was under way running.
      await current?.catch(() => {})
      return result
    }
    let result = await check(
      RUNS === undefined
        ? { numRuns: 1_000_000, interruptAfterTimeLimit: TIME_LIMIT_MS, markInterruptAsFailure: false }
        : { numRuns: Number(RUNS) },
    )
    // A machine on which few fit into the time takes longer.
    if ((result.interrupted || !result.failed) && done < RUNS_AT_LEAST && RUNS === undefined) {
      result = await check({ numRuns: RUNS_AT_LEAST - done })
    }
    if (RUNS !== undefined || TIME_LIMIT !== undefined) console.info(`${done} histories, seed ${result.seed}`, seen)
    // With what the two disagreed about, which the report alone does not say.
    if (result.failed) throw new Error(fc.defaultReportMessage(result), { cause: result.errorInstance })
    expect(done).toBeGreaterThanOrEqual(Math.min(RUNS_AT_LEAST, Number(RUNS ?? RUNS_AT_LEAST)))
    // Histories in which little happens show little.
    if (done >= 150) expect(COMMON_FACTS.filter((fact) => !seen.has(fact))).toEqual([])
  },
  24 * 60 * 60_000,
)

const claim = (queue = 0, worker = 0, qty = 100): Command => ({ kind: 'claim', queue, worker, qty })
const settle = (...reports: Partial<ReportChoice>[]): Command => ({
  kind: 'settle',
  reports: reports.map((report) => ({ claim: 0, late: false, outcome: 'complete', output: 0, delay: 0, ...report })),
})
const start: Command = { kind: 'start', input: 1 }
const retry: Command = { kind: 'retry', run: 0 }
const cancel: Command = { kind: 'cancel', run: 0 }
const recover: Command = { kind: 'recover' }
const resume = (wait = 0, payload = 0): Command => ({ kind: 'resume', run: 0, wait, payload })
const stall: Command = { kind: 'pass', run: 0, seconds: PASSES[2] }

/** Histories that once went wrong, or that a wrong core was caught by, and rare ones that are to happen each time. */
const EXAMPLES: Record<string, Pick<History, 'steps' | 'commands'>> = {
  'a step of three parents, two of them skipped, starts when the third completes': {
    steps: { s0: { if: { yes: true } }, s1: { if: { n: 1 } }, s2: {}, s3: { after: ['s0', 's1', 's2'] } },
    commands: [start, claim(2), settle({}), claim(3), settle({})],
  },
  'a step that feeds a map and returns no array fails its run, and a retry runs it again': {
    steps: { s0: { whenExhausted: 'skip' }, s1: { map: true, after: ['s0'] } },
    commands: [start, claim(), settle({ output: 3 }), retry, claim(), settle({ output: 2 }), claim(1)],
  },
  'a cascade takes all descendants and completes the run, whose open elements are skipped': {
    steps: {
      s0: { map: true, whenExhausted: 'skip-cascade', maxAttempts: 1 },
      s1: { after: ['s0'] },
      s2: { after: ['s1'] },
      s3: { after: ['s2', 's0'] },
    },
    commands: [{ ...start, input: 3 }, claim(0, 0, 2), settle({ outcome: 'fail' }), settle({ late: true, claim: 1 })],
  },
  'a task that stalls with no attempt left ends in recovery, not in the claim that meets it': {
    steps: { s0: { maxAttempts: 1, whenExhausted: 'skip' }, s1: { after: ['s0'] } },
    commands: [start, claim(), stall, claim(0, 1), recover, claim(1), settle({})],
  },
  'a task is put back no more often than max_requeues says, whatever attempts are left': {
    steps: { s0: { maxAttempts: 3 } },
    commands: [start, claim(), stall, recover, claim(), stall, recover],
  },
  'released attempts are forgiven, those that were cut off are not': {
    steps: { s0: { maxAttempts: 2 } },
    commands: [
      start,
      claim(),
      { kind: 'release', claims: [0], started: false },
      claim(),
      { kind: 'release', claims: [1], started: true },
      claim(),
      settle({ outcome: 'fail' }),
    ],
  },
  'a retry that was due later still is when its run is retried': {
    steps: { s0: {}, s1: {} },
    commands: [
      start,
      claim(0),
      claim(1),
      settle({ outcome: 'fail', delay: 500 }, { claim: 1, outcome: 'fail for good' }),
      retry,
      claim(0),
      claim(1),
    ],
  },
  'a run that failed its condition fails it again when it is retried, and its siblings start anew': {
    steps: { s0: {}, s1: {}, s2: { after: ['s0'], if: { s0: 1 }, whenUnmet: 'fail' } },
    commands: [start, claim(0), settle({ output: 2 }), retry, claim(1), settle({}), retry],
  },
  'a step that became ready in the call that failed its run starts when the run is retried': {
    steps: { s0: {}, s1: {}, s2: { after: ['s0'] } },
    commands: [
      start,
      claim(0),
      claim(1),
      settle({ claim: 0 }, { claim: 1, outcome: 'fail for good' }),
      retry,
      claim(1),
      claim(2),
      settle({}, { claim: 1 }),
    ],
  },
  'a payload that came early is taken in the call that opens its wait, and carries the run on': {
    steps: {
      s0: {},
      s1: { wait: true, after: ['s0'] },
      s2: { wait: true, after: ['s1'], if: { s1: 1 } },
      s3: { after: ['s2'] },
    },
    commands: [start, resume(1, 3), resume(0, 1), resume(0, 2), claim(), settle({}), resume(1, 4), claim(), settle({})],
  },
  'a wait that is due takes nothing, and fails its run, which a retry opens again': {
    steps: { s0: {}, s1: { wait: true, timeout: WAIT_SECONDS }, s2: { after: ['s0', 's1'] } },
    commands: [start, stall, resume(), retry, claim(), settle({}), resume(), claim(1), settle({})],
  },
  'due waits of one run end together, some skipped and some with what is below them': {
    steps: {
      s0: {},
      s1: { wait: true, timeout: WAIT_SECONDS, whenExhausted: 'skip' },
      s2: { wait: true, timeout: WAIT_SECONDS, whenExhausted: 'skip-cascade' },
      s3: { after: ['s1'] },
      s4: { wait: true, after: ['s2', 's0'] },
    },
    commands: [
      start,
      resume(2, 1),
      stall,
      recover,
      resume(0),
      resume(1),
      resume(2),
      claim(1),
      settle({}),
      claim(),
      settle({}),
    ],
  },
  'a wait that opened in the call that failed its run is cut off, and a retry opens it again': {
    steps: { s0: {}, s1: {}, s2: { wait: true, after: ['s0'] } },
    commands: [
      start,
      claim(0),
      claim(1),
      settle({ claim: 0 }, { claim: 1, outcome: 'fail for good' }),
      resume(),
      retry,
      resume(),
      claim(1),
      settle({}),
    ],
  },
  'a cancelled run that is retried refuses the reports of before': {
    steps: { s0: { map: true } },
    commands: [
      { ...start, input: 3 },
      claim(0, 0, 2),
      cancel,
      settle({ late: true }),
      retry,
      settle({ late: true }, { late: true, claim: 1, outcome: 'fail' }),
      claim(),
      settle({ late: true }),
      settle({}, { claim: 1 }, { claim: 2 }),
    ],
  },
}

test.each(['flow', 'step'] as const)('each example does what the model says, in queue mode %s', async (mode) => {
  for (const [name, example] of Object.entries(EXAMPLES)) {
    await checkHistory(sql, { ...example, mode }).catch((error: Error) => {
      error.message = `${name}: ${error.message}`
      throw error
    })
  }
})
