import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { setWaitKey } from '../../../core/tests/support/wait-tokens.ts'
import { type Case, withoutTime } from './case.ts'
import type { OnAttempt } from './case-flow.ts'
import { EngineStore, engineRun, freeEngineRun } from './engine-run.ts'
import { EXAMPLES } from './examples.ts'
import { expectNoContradiction, type Outcome } from './outcome.ts'
import { freeQueueRun, queueRun } from './queue-run.ts'
import { randomCase } from './random-case.ts'

/** For longer runs: `DIFFERENTIAL_RUNS=2000 npx vitest run packages/engine/tests/differential`, and a seed to repeat one. */
const { DIFFERENTIAL_RUNS, DIFFERENTIAL_SEED } = process.env
const parameters = {
  numRuns: Number(DIFFERENTIAL_RUNS ?? 40),
  ...(DIFFERENTIAL_SEED === undefined ? {} : { seed: Number(DIFFERENTIAL_SEED) }),
}
/** Only so that it ends: how long it takes says nothing. */
const TIMEOUT_MS = 24 * 60 * 60_000

const database = await testDatabase()
const { sql } = database
const workers = [1, 2, 3].map(() => database.connect())
const store = await EngineStore.open()
beforeAll(() => setWaitKey(sql))
afterAll(() => store.adapter.close())

/** Both machines, one task at a time, by the same schedule: nothing may differ. */
async function expectSame(one: Case): Promise<void> {
  const outcome = await queueRun(sql, one)
  expect(await engineRun(store, one)).toEqual(outcome)
  for (const fact of factsOf(outcome)) seen.add(fact)
}

/** What came up: random flows in which nothing goes wrong would prove little. */
const seen = new Set<string>()
const COMMON_FACTS = [
  ...['completed', 'failed', 'refused'].map((status) => `run ${status}`),
  ...['created', 'started', 'completed', 'failed'].map((status) => `step ${status}`),
  ...['condition_unmet', 'handler_failed', 'dependency_skipped'].map((reason) => `step ${reason}`),
  ...['attempt 2', 'attempt 3', '[1]', '1000 s', 'resumed: accepted', 'timed out', 'retried', 'Condition not met'],
  ...['TYPE_VIOLATION', 'does not match the schema'],
]

function factsOf({ status, steps, trace }: Outcome): readonly string[] {
  const told = JSON.stringify([steps, trace])
  return [
    `run ${status}`,
    ...Object.values(steps).map((step) => `step ${step.skipReason ?? step.status}`),
    ...COMMON_FACTS.filter((fact) => told.includes(fact)),
  ]
}

/** Both machines as they run by themselves: nothing may differ but what a race decides. */
async function expectCompatible(one: Case): Promise<void> {
  const timeless = withoutTime(one)
  const engine = await freeEngineRun(store, timeless, pauses(one))
  expectNoContradiction(engine, await freeQueueRun(workers, timeless, pauses(one)))
}

/** Holds handlers up for a few turns of the event loop each, so that they overlap in many ways. */
function pauses({ choices = [] }: Case): OnAttempt {
  let attempts = 0
  return async () => {
    const turns = (choices[attempts++ % choices.length] ?? 0) % 4
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

describe.each(Object.entries(EXAMPLES))('%s', (_name, one) => {
  test(
    'comes to the same on the SQL core and on the engine, whoever drives',
    async () => {
      await expectSame(one)
      await expectCompatible(one)
    },
    TIMEOUT_MS,
  )
})

test(
  'a random flow comes to the same on the SQL core and on the engine, task by task in the same order',
  async () => {
    await fc.assert(fc.asyncProperty(randomCase, expectSame), parameters)
    if (parameters.numRuns >= 200) expect(COMMON_FACTS.filter((fact) => !seen.has(fact))).toEqual([])
  },
  TIMEOUT_MS,
)

test(
  'a random flow that workers and the engine run as they like comes to the same where no race decides',
  async () => {
    await fc.assert(fc.asyncProperty(randomCase, expectCompatible), parameters)
  },
  TIMEOUT_MS,
)
