import { type AnyFlow, Flow, type Json, type JsonObject, NonRetryableError, type SkipMode } from '@starflow/dsl'
import fc from 'fast-check'

/** A step of a random flow, before it is one. */
interface StepSketch {
  readonly after: readonly number[]
  readonly isMap: boolean
  readonly condition: { readonly isIf: boolean; readonly dependency: number; readonly pattern: Json } | null
  readonly whenUnmet: SkipMode
  readonly whenExhausted: SkipMode
  readonly behaviour: 'value' | 'array' | 'nothing' | 'fails' | 'failsOnce'
}

const skipMode = fc.constantFrom<SkipMode>('skip', 'skip-cascade', 'skip', 'fail')

const sketch: fc.Arbitrary<StepSketch> = fc.record({
  after: fc.array(fc.nat({ max: 5 }), { maxLength: 3 }),
  isMap: fc.boolean(),
  condition: fc.option(
    fc.record({
      isIf: fc.boolean(),
      dependency: fc.nat(),
      pattern: fc.constantFrom<Json>({ ok: true }, 1, [], [{ ok: true }], null),
    }),
    { freq: 2 },
  ),
  whenUnmet: skipMode,
  whenExhausted: skipMode,
  behaviour: fc.constantFrom('value', 'array', 'array', 'nothing', 'fails', 'failsOnce'),
})

export interface RandomFlow {
  /** A new one each time: what fails once does so again. `onRun` hears of every call of a handler. */
  build(onRun?: (node: string) => void): AnyFlow
  readonly input: Json
  readonly text: string
}

/** Flows of up to six steps: parallel ones, maps, conditions, failures, all modes. */
export const randomFlow: fc.Arbitrary<RandomFlow> = fc
  .tuple(fc.array(sketch, { minLength: 1, maxLength: 6 }), fc.constantFrom<Json>({ ok: true }, { n: 1 }))
  .map(([sketches, input]) => ({
    build: (onRun) => build(sketches, onRun ?? (() => {})),
    input,
    text: JSON.stringify(sketches),
  }))

/** The parts of Flow that the sketches use, without the types that only a written flow can have. */
interface UntypedFlow extends AnyFlow {
  step(options: object, handler: (input: unknown, context: HandlerContext) => unknown): UntypedFlow
  map(options: object, handler: (input: unknown, context: HandlerContext) => unknown): UntypedFlow
}
interface HandlerContext {
  readonly stepTask: { readonly task_index: number }
}

function build(sketches: readonly StepSketch[], onRun: (node: string) => void): AnyFlow {
  let flow = new Flow({ slug: 'random', baseDelay: 0, maxAttempts: 8 }) as unknown as UntypedFlow
  for (const [index, step] of sketches.entries()) {
    const slug = `s${index}`
    const all = [...new Set(step.after.filter((other) => other < index))].map((other) => `s${other}`)
    const isMap = step.isMap && all.length > 0
    const dependencies = isMap ? all.slice(0, 1) : all
    const options = {
      slug,
      ...(isMap ? { array: dependencies[0] } : { dependsOn: dependencies }),
      ...conditionOf(step, dependencies),
      whenExhausted: step.whenExhausted,
    }
    const handler = handlerOf(slug, step.behaviour, onRun)
    flow = isMap ? flow.map(options, handler) : flow.step(options, handler)
  }
  return flow
}

function conditionOf({ condition, whenUnmet }: StepSketch, dependencies: readonly string[]) {
  if (condition === null) return {}
  const pattern: JsonObject =
    dependencies.length === 0
      ? { ok: true }
      : { [dependencies[condition.dependency % dependencies.length]!]: condition.pattern }
  return { [condition.isIf ? 'if' : 'ifNot']: pattern, whenUnmet }
}

function handlerOf(slug: string, behaviour: StepSketch['behaviour'], onRun: (node: string) => void) {
  const failed = new Set<number>()
  return (_input: unknown, { stepTask: { task_index: index } }: HandlerContext): unknown => {
    onRun(`${slug}[${index}]`)
    if (behaviour === 'fails' && index % 2 === 0) throw new NonRetryableError(`${slug} fails`)
    if (behaviour === 'failsOnce' && !failed.has(index) && failed.add(index)) throw new Error(`${slug} fails once`)
    if (behaviour === 'array') return [{ ok: true }, 1, null]
    return behaviour === 'nothing' ? [] : { ok: true, index }
  }
}
