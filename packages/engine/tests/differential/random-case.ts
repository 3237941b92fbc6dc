import type { Json, JsonObject, SkipMode } from '@starflow/dsl'
import fc from 'fast-check'
import { type Behaviour, type Case, type Failure, type Output, type StepSketch, UNIT_SECONDS } from './case.ts'

const ARRAYS: readonly Json[] = [
  [],
  [1],
  [{ ok: true }, 1, null],
  [null],
  ['', 0, false, 'text'],
  [[1], [], [{ ok: true }]],
  [9007199254740992, 1e21, 0.1],
]
const VALUES: readonly Json[] = [
  { ok: true },
  { ok: true, n: 1, deep: { list: [1, { a: null }, [2]] } },
  ...[1, 0, -1.5, 1e21, 2 ** 53, '', 'text', '\u{1f600}', true, false, null],
  JSON.parse('{ "__proto__": { "ok": true }, "constructor": 1, "": {} }') as Json,
  ...ARRAYS,
]
/** What conditions ask of an output or of the input: it happens to be in some of the values. */
const PATTERNS: readonly Json[] = [
  ...[{}, { ok: true }, { ok: false }, { deep: { list: [{}] } }, { deep: { list: [[2], 1] } }, { constructor: 1 }],
  ...[1, 0, '', 'text', true, null, 1e21],
  ...[[], [1], [null], [{ ok: true }], [{}], [[]], [1, 1]],
]
const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const units = (...counts: readonly number[]) => fc.constantFrom(...counts.map((count) => count * UNIT_SECONDS))
const mostlyNot = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const skipMode = fc.constantFrom<SkipMode>('skip', 'skip-cascade', 'fail')
const maxAttempts = fc.integer({ min: 0, max: 3 })
const delays = { baseDelay: mostlyNot(units(0, 1, 3)), maxDelay: mostlyNot(units(0, 2, 5)) }

const failure: fc.Arbitrary<Failure> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ throws: fc.constantFrom('boom', 'bang', '') }) },
  { weight: 1, arbitrary: fc.record({ givesUp: fc.constantFrom('enough', 'no') }) },
  { weight: 2, arbitrary: fc.record({ asksFor: fc.oneof(units(0, 1, 4, 86), fc.constantFrom(null, -1, 86_401)) }) },
  { weight: 1, arbitrary: fc.record({ returns: fc.constantFrom('bigint', 'nul', 'function') }) },
)
const fails = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.array(failure, { minLength: 1, maxLength: 2 }) },
  { weight: 1, arbitrary: fc.array(failure, { minLength: 3, maxLength: 5 }) },
)
const value = fc.constantFrom(...VALUES)
const array = fc.constantFrom(...ARRAYS)
const output: fc.Arbitrary<Output> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ value }) },
  { weight: 3, arbitrary: fc.constantFrom('undefined', 'input', '[input]', 'flow input') },
)

/** A step before its place is known: numbers choose among what there is. */
interface Raw {
  readonly kind: NonNullable<StepSketch['kind']>
  readonly after: readonly number[]
  readonly condition: {
    readonly if: readonly [number, Json] | undefined
    readonly ifNot: readonly [number, Json] | undefined
    readonly whenUnmet: SkipMode
  }
  readonly does: readonly { fails: readonly Failure[]; gives: Output; array: Json; isRight: boolean }[]
  readonly answers: readonly { readonly timesOut: boolean; readonly payload: Json; readonly array: Json }[]
  readonly whenExhausted: SkipMode
  readonly options: Pick<StepSketch, 'maxAttempts' | 'baseDelay' | 'maxDelay' | 'startDelay'>
}

const pattern = mostlyNot(fc.tuple(fc.nat({ max: 7 }), fc.constantFrom(...PATTERNS)))
const raw: fc.Arbitrary<Raw> = fc.record({
  kind: fc.constantFrom('step', 'step', 'array', 'map', 'map', 'wait'),
  after: fc.array(fc.nat({ max: 7 }), { maxLength: 3 }),
  condition: fc.record({ if: pattern, ifNot: pattern, whenUnmet: skipMode }),
  does: fc.array(
    fc.record({ fails, gives: output, array, isRight: fc.integer({ min: 0, max: 7 }).map((n) => n > 0) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  answers: fc.array(fc.record({ timesOut: fc.boolean(), payload: value, array }), { minLength: 1, maxLength: 2 }),
  whenExhausted: skipMode,
  options: fc.record({ maxAttempts: mostlyNot(maxAttempts), ...delays, startDelay: mostlyNot(units(1, 2)) }),
})

/** Flows of up to eight steps with all that a flow can have, and how they are to run. */
export const randomCase: fc.Arbitrary<Case> = fc
  .record({
    raws: fc.array(raw, { minLength: 1, maxLength: 8 }),
    input: fc.oneof({ weight: 3, arbitrary: value }, { weight: 1, arbitrary: array }),
    array,
    options: fc.record({ maxAttempts: mostlyNot(maxAttempts), baseDelay: units(0, 1, 2), maxDelay: delays.maxDelay }),
    choices: fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 24 }),
    retries: fc.constantFrom(0, 0, 1, 2),
    queueMode: fc.constantFrom('flow' as const, 'step' as const),
    isRight: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
    refusesInput: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  .map(({ raws, input, array: arrayInput, isRight, queueMode, ...rest }): Case => {
    const steps = Object.fromEntries(raws.map((one, index) => [`s${index}`, sketchOf(one, index)]))
    const hasRootMap = Object.values(steps).some(({ kind, after }) => kind === 'map' && after?.length === 0)
    const fed = new Set(Object.values(steps).flatMap(({ kind, after = [] }) => (kind === 'map' ? after : [])))
    return {
      ...rest,
      // Waits alone have no queues.
      queueMode: raws.every(({ kind }) => kind === 'wait') ? 'flow' : queueMode,
      // Mostly of the right type.
      input: hasRootMap && isRight ? arrayInput : input,
      steps: Object.fromEntries(
        raws.map((one, index) => [`s${index}`, { ...steps[`s${index}`], ...actionsOf(one, fed.has(`s${index}`)) }]),
      ),
    }
  })

function sketchOf({ kind, after, condition, whenExhausted, options }: Raw, index: number): StepSketch {
  const before = [...new Set(after.filter((other) => other < index))].map((other) => `s${other}`)
  const dependencies = kind === 'map' ? before.slice(0, 1) : before
  // A map over the input has nothing to match.
  const conditions = kind === 'map' && dependencies.length === 0 ? {} : conditionsOf(condition, dependencies)
  return { kind, after: dependencies, ...conditions, whenExhausted, ...(kind === 'wait' ? {} : options) }
}

function conditionsOf({ whenUnmet, ...patterns }: Raw['condition'], dependencies: readonly string[]) {
  const written = Object.entries(patterns).flatMap(([name, chosen]) => {
    if (chosen === undefined) return []
    const [place, part] = chosen
    if (dependencies.length > 0) return [[name, { [dependencies[place % dependencies.length]!]: part }] as const]
    return isObject(part) ? [[name, part] as const] : []
  })
  return written.length === 0 ? {} : { ...Object.fromEntries(written), whenUnmet }
}

/** A step that feeds a map mostly gives an array, and a wait that does always. */
function actionsOf({ kind, does, answers }: Raw, feedsMap: boolean): Pick<StepSketch, 'does' | 'answers'> {
  if (kind === 'wait') {
    return {
      answers: answers.map(({ timesOut, payload, array: arrayPayload }) =>
        timesOut ? 'timeout' : { payload: feedsMap ? arrayPayload : payload },
      ),
    }
  }
  return {
    does: does.map(({ fails: failures, gives, array: arrayOutput, isRight }): Behaviour => {
      const givesArray = isRight && (kind === 'array' || (feedsMap && kind === 'step'))
      return { fails: failures, gives: givesArray && gives !== '[input]' ? { value: arrayOutput } : gives }
    }),
  }
}
