import type { JsonObject, SkipMode } from '@starflow/dsl'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { type Command, checkHistory, type History, PASSES, TooSlow } from './support/model-check.ts'
import { MAX_REQUEUES } from './support/run-model.ts'
import type { StepSketch } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database

/** For longer runs: `RUNS=5000 SEED=7 npx vitest run packages/core/tests/model.test.ts`. */
const RUNS = process.env.RUNS === undefined ? undefined : Number(process.env.RUNS)
const SEED = process.env.SEED === undefined ? undefined : Number(process.env.SEED)
const TIME_LIMIT_MS = 14_000
const RUNS_AT_LEAST = 20

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
      sketches.map(({ after, map, condition, ...modes }, index) => {
        const dependencies = [...new Set(after.filter((n) => n < index))].map((n) => `s${n}`)
        const mapped = map ? dependencies.slice(0, 1) : dependencies
        const pattern = condition === null ? undefined : patternOf(condition, mapped)
        return [
          `s${index}`,
          {
            ...modes,
            after: mapped,
            map,
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
  late: fc.boolean(),
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
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      reports: fc.array(report, { minLength: 1, maxLength: 5 }),
      claims: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      claims: fc.array(choice, { minLength: 1, maxLength: 3 }),
      started: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), run: choice, seconds: fc.constantFrom(...PASSES) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('recover' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), run: choice }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('retry' as const), run: choice }) },
)

const history: fc.Arbitrary<History> = fc.record({
  steps,
  mode: fc.constantFrom('flow' as const, 'step' as const),
  commands: fc
    .array(command, { minLength: 5, maxLength: 40, size: 'max' })
    .map((commands): Command[] => [{ kind: 'start', input: 0 }, ...commands]),
})

beforeAll(async () => {
  await new StarflowSql(sql).setSetting('max_requeues', String(MAX_REQUEUES))
})

test(
  'whatever is done to runs, the database does what the model says',
  async () => {
    let done = 0
    await fc.assert(
      fc.asyncProperty(history, async (value) => {
        try {
          await checkHistory(sql, value)
          done += 1
        } catch (error) {
          fc.pre(!(error instanceof TooSlow))
          throw error
        }
      }),
      {
        numRuns: RUNS ?? 10_000,
        ...(SEED === undefined ? {} : { seed: SEED }),
        ...(RUNS === undefined ? { interruptAfterTimeLimit: TIME_LIMIT_MS, markInterruptAsFailure: false } : {}),
      },
    )
    expect(done).toBeGreaterThanOrEqual(Math.min(RUNS_AT_LEAST, RUNS ?? RUNS_AT_LEAST))
    if (RUNS !== undefined) console.info(`${done} histories`)
  },
  RUNS === undefined ? 60_000 : 24 * 60 * 60_000,
)
