import type { CompatibleContext } from './compatible-flow.ts'
import type { ContextOfStep, ContextRequirement, Env, HandlerContext, StepContext } from './context.ts'
import { flowBrand } from './flow-brand.ts'
import type {
  AnyDeps,
  AnyFlow,
  AnySteps,
  DependencyOutputs,
  ElementOf,
  flowTypes,
  None,
  OutputOf,
} from './flow-types.ts'
import { checkPattern } from './input-pattern.ts'
import { checkConditionSteps, checkDependencies } from './invalid-dependency-error.ts'
import { InvalidStepOptionError } from './invalid-step-option-error.ts'
import type { Json, Jsonified, Returning } from './json.ts'
import {
  SESSION_READ_OPTIONS,
  SESSION_WRITE_OPTIONS,
  type SessionContext,
  type SessionReadOptions,
  type SessionWriteOptions,
  sessionReader,
  sessionWriter,
} from './session-step.ts'
import { checkSlug } from './slug.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { HandledStep, StepDefinition, StepHandler, WaitStep } from './step-definition.ts'
import {
  checkOptionNames,
  checkRuntimeOptions,
  checkSkipMode,
  type RuntimeOptions,
  type SkipMode,
} from './step-option.ts'
import type { MapOptions, MappableInput, NewSlug, SkipsOfOptions, StepOptions, WaitOptions } from './step-options.ts'
import { DuplicateStepSlugError } from './step-queue-error.ts'
import { UnknownStepError } from './unknown-step-error.ts'

export interface FlowOptions<TInput> extends RuntimeOptions {
  /**
   * The concrete slug: one immutable shape. A changed flow takes a new one. Letters, digits and single underscores;
   * begins with a letter; unique in its database, whatever the case.
   */
  readonly slug: string
  /**
   * A schema of any Standard Schema library. It gives the flow its input type and is checked before a run starts. It
   * only checks: handlers get the input as it was sent, without what the schema would add or convert.
   */
  readonly input?: StandardSchemaV1<TInput>
}

/**
 * A durable flow: a typed graph of steps. Each method gives a new flow and leaves the old one as it is.
 *
 * @example
 * const flow = new Flow<{ url: string }>({ slug: 'readPageV1', maxAttempts: 5 })
 *   .step({ slug: 'fetch' }, async ({ url }, ctx) => (await fetch(url, { signal: ctx.signal })).text())
 *   .step({ slug: 'count', dependsOn: ['fetch'] }, ({ fetch }) => fetch.length)
 *
 * @typeParam TInput what a run starts with
 * @typeParam TContext what the handlers ask of the context beyond what every worker has
 * @typeParam TEnv the environment variables that the flow expects
 */
export class Flow<
  TInput = Json,
  TContext extends ContextRequirement = None,
  TSteps extends AnySteps = None,
  TDeps extends AnyDeps = None,
  TEnv = Env,
> implements AnyFlow
{
  declare readonly [flowTypes]: {
    readonly input: TInput
    readonly context: TContext
    readonly steps: TSteps
    readonly deps: TDeps
    readonly env: TEnv
    readonly compatible: CompatibleContext<TContext, StepContext<TInput, TEnv>>
  }
  readonly [flowBrand] = true
  readonly slug: string
  readonly options: RuntimeOptions
  readonly input: StandardSchemaV1<TInput> | undefined
  #definitions: ReadonlyMap<string, StepDefinition> = new Map()
  #stepOrder: readonly string[] = Object.freeze([])

  /** @throws InvalidSlugError, InvalidStepOptionError */
  constructor(options: FlowOptions<TInput>) {
    this.slug = checkSlug('flow', options.slug)
    const owner = `Flow "${this.slug}"`
    checkOptionNames(owner, options, ['slug', ...RUNTIME_OPTIONS, 'input'])
    this.options = checkRuntimeOptions(owner, options, RUNTIME_OPTIONS)
    this.input = checkSchema(owner, 'input', options.input)
  }

  /** The step slugs in the order they were added; frozen. */
  get stepOrder(): readonly string[] {
    return this.#stepOrder
  }

  /** @throws UnknownStepError naming the steps that there are */
  getStepDefinition(slug: string): StepDefinition {
    const definition = this.#definitions.get(slug)
    if (definition === undefined) throw new UnknownStepError(this.slug, slug, this.#stepOrder)
    return definition
  }

  // TSlug is const in all of these: where the result is an argument of a call that takes an AnyFlow, TypeScript would else
  // widen the slug to string, and the union of slugs would be lost.

  /**
   * Adds a step. Its handler gets the flow's input, or, with `dependsOn`, an object of those steps' outputs.
   *
   * @throws InvalidSlugError, DuplicateStepSlugError, InvalidDependencyError, InvalidStepOptionError
   */
  step<
    const TSlug extends string,
    TOutput,
    TDep extends keyof TSteps & string = never,
    TIf = never,
    TIfNot = never,
    TWhenUnmet extends SkipMode = 'skip',
    TWhenExhausted extends SkipMode = 'fail',
    TNeeds = unknown,
    const TTransactional extends boolean = false,
  >(
    options: StepOptions<TInput, TSteps, TSlug, TDep, TIf, TIfNot, TWhenUnmet, TWhenExhausted, TTransactional>,
    handler: ((
      input: [TDep] extends [never] ? TInput : DependencyOutputs<TSteps, TDep>,
      context: ContextOfStep<HandlerContext<TInput, TContext, TEnv>, TTransactional> & TNeeds,
    ) => TOutput | PromiseLike<TOutput>) &
      Returning<TOutput>,
  ): Flow<
    TInput,
    Carried<TContext, TNeeds, ContextOfStep<StepContext<TInput, TEnv>, TTransactional>>,
    TSteps & {
      [K in TSlug]: {
        type: 'single'
        output: Jsonified<TOutput>
        skips: SkipsOfOptions<TSteps, TDep, TIf | TIfNot, TWhenUnmet, TWhenExhausted>
      }
    },
    TDeps & { [K in TSlug]: TDep },
    TEnv
  > {
    return this.#with(this.#checkHandledStep('single', options, handler)) as never
  }

  /**
   * Adds a step whose handler returns an array, for a map to go over.
   *
   * @throws InvalidSlugError, DuplicateStepSlugError, InvalidDependencyError, InvalidStepOptionError
   */
  array<
    const TSlug extends string,
    TOutput extends readonly unknown[],
    TDep extends keyof TSteps & string = never,
    TIf = never,
    TIfNot = never,
    TWhenUnmet extends SkipMode = 'skip',
    TWhenExhausted extends SkipMode = 'fail',
    TNeeds = unknown,
    const TTransactional extends boolean = false,
  >(
    options: StepOptions<TInput, TSteps, TSlug, TDep, TIf, TIfNot, TWhenUnmet, TWhenExhausted, TTransactional>,
    handler: ((
      input: [TDep] extends [never] ? TInput : DependencyOutputs<TSteps, TDep>,
      context: ContextOfStep<HandlerContext<TInput, TContext, TEnv>, TTransactional> & TNeeds,
    ) => TOutput | PromiseLike<TOutput>) &
      Returning<TOutput>,
  ): Flow<
    TInput,
    Carried<TContext, TNeeds, ContextOfStep<StepContext<TInput, TEnv>, TTransactional>>,
    TSteps & {
      [K in TSlug]: {
        type: 'single'
        output: Jsonified<TOutput>
        skips: SkipsOfOptions<TSteps, TDep, TIf | TIfNot, TWhenUnmet, TWhenExhausted>
      }
    },
    TDeps & { [K in TSlug]: TDep },
    TEnv
  > {
    return this.#with(this.#checkHandledStep('single', options, handler)) as never
  }

  /**
   * Adds a map: its handler runs once per element of a step's array (`array`), or of the flow's input. Its output is the
   * array of the results, in the order of the elements. Over a skipped step it runs no task and gives `[]`.
   *
   * @throws InvalidSlugError, DuplicateStepSlugError, InvalidDependencyError, InvalidStepOptionError
   */
  map<
    const TSlug extends string,
    TOutput,
    TArray extends keyof TSteps & string = never,
    TIf = never,
    TIfNot = never,
    TWhenUnmet extends SkipMode = 'skip',
    TWhenExhausted extends SkipMode = 'fail',
    TNeeds = unknown,
    const TTransactional extends boolean = false,
  >(
    options: MapOptions<TInput, TSteps, TSlug, TArray, TIf, TIfNot, TWhenUnmet, TWhenExhausted, TTransactional> &
      MappableInput<TInput, TArray>,
    handler: ((
      element: ElementOf<[TArray] extends [never] ? TInput : OutputOf<TSteps[TArray]>>,
      context: ContextOfStep<HandlerContext<TInput, TContext, TEnv>, TTransactional> & TNeeds,
    ) => TOutput | PromiseLike<TOutput>) &
      Returning<TOutput>,
  ): Flow<
    TInput,
    Carried<TContext, TNeeds, ContextOfStep<StepContext<TInput, TEnv>, TTransactional>>,
    TSteps & {
      [K in TSlug]: {
        type: 'map'
        output: Jsonified<TOutput>[]
        skips: SkipsOfOptions<TSteps, TArray, TIf | TIfNot, TWhenUnmet, TWhenExhausted>
      }
    },
    TDeps & { [K in TSlug]: TArray },
    TEnv
  > {
    return this.#with(this.#checkHandledStep('map', options, handler)) as never
  }

  /**
   * Adds a durable wait, for an approval or another event from outside. It holds no worker and no queue message; the run goes
   * on when it is resumed with a signed token, and its output is the payload that came with it.
   *
   * @throws InvalidSlugError, DuplicateStepSlugError, InvalidDependencyError, InvalidStepOptionError
   *
   * @example
   * flow
   *   .wait({ slug: 'approve', dependsOn: ['draft'], timeout: 86_400, payload: unchecked<{ approved: boolean }>() })
   *   .step({ slug: 'publish', dependsOn: ['approve'], if: { approve: { approved: true } } }, publish)
   */
  wait<
    const TSlug extends string,
    TPayload = Json,
    TDep extends keyof TSteps & string = never,
    TIf = never,
    TIfNot = never,
    TWhenUnmet extends SkipMode = 'skip',
    TWhenExhausted extends SkipMode = 'fail',
  >(
    options: WaitOptions<TInput, TSteps, TSlug, TPayload, TDep, TIf, TIfNot, TWhenUnmet, TWhenExhausted>,
  ): Flow<
    TInput,
    TContext,
    TSteps & {
      [K in TSlug]: {
        type: 'wait'
        output: Jsonified<TPayload>
        skips: SkipsOfOptions<TSteps, TDep, TIf | TIfNot, TWhenUnmet, TWhenExhausted>
      }
    },
    TDeps & { [K in TSlug]: TDep },
    TEnv
  > {
    return this.#with(this.#checkWait(options)) as never
  }

  /**
   * Adds a step that reads a session variable. Its output is the value, null when there is none. Only for runs on a runner.
   *
   * @throws InvalidSlugError, DuplicateStepSlugError, InvalidDependencyError, InvalidStepOptionError
   *
   * @example
   * flow.sessionRead({ slug: 'lastVisit', key: 'visitedAt', session: 'visits' })
   */
  sessionRead<const TSlug extends string, TDep extends keyof TSteps & string = never>(
    options: SessionReadOptions<TSlug & NewSlug<TSlug, TSteps>, TDep>,
  ): Flow<
    TInput,
    TContext & SessionContext,
    TSteps & {
      [K in TSlug]: { type: 'single'; output: Json; skips: SkipsOfOptions<TSteps, TDep, never, 'skip', 'fail'> }
    },
    TDeps & { [K in TSlug]: TDep },
    TEnv
  > {
    const { slug, dependsOn } = options as RawStepOptions
    const owner = sessionStepOwner(this.slug, options, SESSION_READ_OPTIONS)
    return this.#with(this.#checkHandledStep('single', { slug, dependsOn }, sessionReader(owner, options))) as never
  }

  /**
   * Adds a step that writes a session variable: what `value` makes of the step's input, which is its output too. Only for runs on
   * a runner.
   *
   * @throws InvalidSlugError, DuplicateStepSlugError, InvalidDependencyError, InvalidStepOptionError
   *
   * @example
   * flow.sessionWrite({ slug: 'keep', dependsOn: ['visit'], key: 'visitedAt', session: 'visits', keepFor: 86_400 }, ({ visit }) => visit.at)
   */
  sessionWrite<const TSlug extends string, TOutput, TDep extends keyof TSteps & string = never>(
    options: SessionWriteOptions<TSlug & NewSlug<TSlug, TSteps>, TDep>,
    value: (
      input: [TDep] extends [never] ? TInput : DependencyOutputs<TSteps, TDep>,
      context: HandlerContext<TInput, TContext, TEnv>,
    ) => TOutput | PromiseLike<TOutput>,
  ): Flow<
    TInput,
    TContext & SessionContext,
    TSteps & {
      [K in TSlug]: {
        type: 'single'
        output: Jsonified<TOutput>
        skips: SkipsOfOptions<TSteps, TDep, never, 'skip', 'fail'>
      }
    },
    TDeps & { [K in TSlug]: TDep },
    TEnv
  > {
    const { slug, dependsOn } = options as RawStepOptions
    const owner = sessionStepOwner(this.slug, options, SESSION_WRITE_OPTIONS)
    return this.#with(
      this.#checkHandledStep('single', { slug, dependsOn }, sessionWriter(owner, options, value)),
    ) as never
  }

  #with(definition: StepDefinition): AnyFlow {
    const next = new Flow<TInput, TContext, TSteps, TDeps, TEnv>({
      slug: this.slug,
      ...this.options,
      ...(this.input && { input: this.input }),
    })
    next.#definitions = new Map([...this.#definitions, [definition.slug, definition]])
    next.#stepOrder = Object.freeze([...this.#stepOrder, definition.slug])
    return next
  }

  #checkHandledStep(stepType: HandledStep['stepType'], options: RawStepOptions, handler: unknown): HandledStep {
    const owner = this.#checkNewSlug(options.slug)
    checkOptionNames(owner, options, stepType === 'map' ? MAP_OPTIONS : STEP_OPTIONS)
    if (typeof handler !== 'function') {
      throw new InvalidStepOptionError({ owner, option: 'handler', value: handler, rule: 'must be a function' })
    }
    const { transactional = false } = options
    if (typeof transactional !== 'boolean') {
      throw new InvalidStepOptionError({
        owner,
        option: 'transactional',
        value: transactional,
        rule: 'must be true or false',
      })
    }
    return Object.freeze({
      ...this.#checkPlace(owner, stepType, options),
      stepType,
      transactional,
      options: checkRuntimeOptions(owner, options, [...RUNTIME_OPTIONS, 'startDelay']),
      handler: handler as StepHandler,
    })
  }

  #checkWait(options: RawStepOptions): WaitStep {
    const owner = this.#checkNewSlug(options.slug)
    checkOptionNames(owner, options, WAIT_OPTIONS)
    return Object.freeze({
      ...this.#checkPlace(owner, 'wait', options),
      stepType: 'wait' as const,
      options: checkRuntimeOptions(owner, options, ['timeout']),
      payload: checkSchema(owner, 'payload', options.payload as StandardSchemaV1 | undefined),
    })
  }

  /** Gives the name of the step in a refusal. */
  #checkNewSlug(value: unknown): string {
    const slug = checkSlug('step', value)
    const existing = this.#stepOrder.find((known) => known.toLowerCase() === slug.toLowerCase())
    if (existing !== undefined) throw new DuplicateStepSlugError(this.slug, slug, existing)
    return `Step "${slug}" of flow "${this.slug}"`
  }

  /** Where the step stands in the flow, and when it starts: what every type of step has. */
  #checkPlace(owner: string, stepType: StepDefinition['stepType'], options: RawStepOptions) {
    const slug = options.slug as string
    const dependencies = readDependencies(owner, options)
    const condition = checkCondition(owner, options, stepType === 'map' && dependencies.length === 0)
    const step = { flowSlug: this.slug, stepSlug: slug, stepType, dependencies, knownSlugs: this.#stepOrder }
    const checkedDependencies = checkDependencies(step)
    checkConditionSteps(step, { if: condition.requiredInputPattern, ifNot: condition.forbiddenInputPattern })
    return {
      slug,
      index: this.#stepOrder.length,
      dependencies: checkedDependencies,
      ...condition,
      whenExhausted: checkSkipMode(owner, 'whenExhausted', options.whenExhausted ?? 'fail'),
    }
  }
}

/** Refuses what a session step has no use for; gives its name in a refusal. */
function sessionStepOwner(flowSlug: string, options: { readonly slug?: unknown }, known: readonly string[]): string {
  const owner = `Step "${String(options.slug)}" of flow "${flowSlug}"`
  checkOptionNames(owner, options, known)
  return owner
}

const RUNTIME_OPTIONS = ['maxAttempts', 'baseDelay', 'maxDelay', 'timeout'] as const
const START_OPTIONS = ['if', 'ifNot', 'whenUnmet', 'whenExhausted'] as const
const COMMON_OPTIONS = [...START_OPTIONS, ...RUNTIME_OPTIONS, 'startDelay', 'transactional'] as const
const STEP_OPTIONS = ['slug', 'dependsOn', ...COMMON_OPTIONS] as const
// dependsOn is here so that the refusal of a map with several dependencies names them, not the option.
const MAP_OPTIONS = ['slug', 'array', 'dependsOn', ...COMMON_OPTIONS] as const
const WAIT_OPTIONS = ['slug', 'dependsOn', ...START_OPTIONS, 'timeout', 'payload'] as const

/** Options before they are checked: JavaScript has no types to keep them right. */
type RawStepOptions = { readonly [K in (typeof MAP_OPTIONS | typeof WAIT_OPTIONS)[number]]?: unknown }

/** A flow's context requirement with what a handler asks for added, as far as the platform does not give it anyway. */
type Carried<TContext, TNeeds, TProvided> = [Unmet<TNeeds, TProvided>] extends [never]
  ? TContext
  : TContext & Pick<TNeeds, Unmet<TNeeds, TProvided>>

type Unmet<TNeeds, TProvided> = {
  [K in keyof TNeeds]: K extends keyof TProvided ? (TProvided[K] extends TNeeds[K] ? never : K) : K
}[keyof TNeeds]

function readDependencies(owner: string, { array, dependsOn = [] }: RawStepOptions): readonly string[] {
  if (!Array.isArray(dependsOn)) {
    throw new InvalidStepOptionError({
      owner,
      option: 'dependsOn',
      value: dependsOn,
      rule: 'must be an array of step slugs',
    })
  }
  return array === undefined ? dependsOn : [array, ...dependsOn]
}

function checkCondition(owner: string, options: RawStepOptions, isRootMap: boolean) {
  const { if: required, ifNot: forbidden, whenUnmet } = options
  for (const [option, pattern] of Object.entries({ if: required, ifNot: forbidden })) {
    if (isRootMap && pattern !== undefined) {
      throw new InvalidStepOptionError({
        owner,
        option,
        value: pattern,
        rule: 'has nothing to match in a map over the flow input: a pattern is an object, and that input is an array',
        hint: 'Give the condition to a step after this one, or wrap the array in an object and map over a step that returns it.',
      })
    }
  }
  if (whenUnmet !== undefined && required === undefined && forbidden === undefined) {
    throw new InvalidStepOptionError({
      owner,
      option: 'whenUnmet',
      value: whenUnmet,
      rule: 'says what happens when a condition does not hold, and this step has none',
      hint: 'Add `if` or `ifNot`, or leave whenUnmet out.',
    })
  }
  return {
    requiredInputPattern: required === undefined ? undefined : checkPattern(owner, 'if', required),
    forbiddenInputPattern: forbidden === undefined ? undefined : checkPattern(owner, 'ifNot', forbidden),
    whenUnmet: checkSkipMode(owner, 'whenUnmet', whenUnmet ?? 'skip'),
  }
}

function checkSchema<TInput>(owner: string, option: 'input' | 'payload', schema: StandardSchemaV1<TInput> | undefined) {
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    throw new InvalidStepOptionError({
      owner,
      option,
      value: schema,
      rule: 'must be a schema that implements Standard Schema',
      hint: 'Use a schema of zod 4, valibot, arktype or another library that implements it.',
    })
  }
  return schema
}
