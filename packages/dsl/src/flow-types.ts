import type { HandlerContext } from './context.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { StepDefinition, StepType } from './step-definition.ts'
import type { RuntimeOptions, SkipMode } from './step-option.ts'

/** Where a flow carries its types. Nothing is there at run time. */
export declare const flowTypes: unique symbol

/** What a flow knows about one step. */
export interface StepTypes {
  readonly type: StepType
  readonly output: unknown
  /** How it can come to be skipped: by itself, or (skip-cascade) by a step before it. `never`: it is not. */
  readonly skips: Exclude<SkipMode, 'fail'>
}

export type AnySteps = Record<string, StepTypes>
export type AnyDeps = Record<string, string>
/** Nothing yet: no steps, no dependencies, no context of its own. An intersection with it vanishes. */
// biome-ignore lint/complexity/noBannedTypes: an intersection with Record<never, never> would stay, and show
export type None = {}

/** Any flow. */
export interface AnyFlow {
  readonly slug: string
  /** The step slugs in the order they were added. */
  readonly stepOrder: readonly string[]
  readonly options: RuntimeOptions
  readonly input: StandardSchemaV1 | undefined
  getStepDefinition(slug: string): StepDefinition
  readonly [flowTypes]: {
    readonly input: unknown
    readonly context: object
    readonly steps: AnySteps
    readonly deps: AnyDeps
    readonly env: unknown
    // any: a helper over any flow may start workers. The concrete flow that its caller passes has the answer.
    // biome-ignore lint/suspicious/noExplicitAny: the one type that fits every answer
    readonly compatible: any
  }
}

/** The input of a flow's runs. */
export type ExtractFlowInput<TFlow extends AnyFlow> = TFlow[typeof flowTypes]['input']

/** What a flow asks of the context beyond what every worker has. */
export type ExtractFlowContext<TFlow extends AnyFlow> = TFlow[typeof flowTypes]['context']

/** The environment that a flow expects. */
export type ExtractFlowEnv<TFlow extends AnyFlow> = TFlow[typeof flowTypes]['env']

/**
 * The outputs of a flow's steps by slug.
 *
 * @example
 * keyof ExtractFlowSteps<typeof flow> // 'classify' | 'deliverSlack'
 */
export type ExtractFlowSteps<TFlow extends AnyFlow> = {
  [K in keyof TFlow[typeof flowTypes]['steps']]: OutputOf<TFlow[typeof flowTypes]['steps'][K]>
}

/** The exact union of a flow's step slugs; `string` for AnyFlow. */
export type StepSlug<TFlow extends AnyFlow> = Extract<keyof ExtractFlowSteps<TFlow>, string>

/** The slugs of the steps that workers run: all but the waits. */
export type HandledStepSlug<TFlow extends AnyFlow> = {
  // Looked up in a tuple: so editors and errors show the slugs, not how they follow from the type of the flow.
  [K in StepSlug<TFlow>]: TFlow[typeof flowTypes]['steps'][K] extends { type: 'wait' } ? [never] : [K]
}[StepSlug<TFlow>][0]

/** The outputs of the steps that no other step depends on. */
export type ExtractFlowLeafSteps<TFlow extends AnyFlow> = Pick<
  ExtractFlowSteps<TFlow>,
  Exclude<keyof ExtractFlowSteps<TFlow>, DependencySlugs<TFlow>>
>

/** The output of a run: the outputs of its leaf steps; a leaf that can be skipped is optional. */
export type ExtractFlowOutput<TFlow extends AnyFlow> = Simplify<
  {
    [K in keyof ExtractFlowLeafSteps<TFlow> as [SkipsOf<TFlow[typeof flowTypes]['steps'], K>] extends [never]
      ? K
      : never]: ExtractFlowLeafSteps<TFlow>[K]
  } & {
    [K in keyof ExtractFlowLeafSteps<TFlow> as [SkipsOf<TFlow[typeof flowTypes]['steps'], K>] extends [never]
      ? never
      : K]?: ExtractFlowLeafSteps<TFlow>[K]
  }
>

/**
 * The first argument of a step's handler: the flow input, the object of dependency outputs, or a map's element. A wait has no
 * handler: `never`.
 */
export type StepInput<TFlow extends AnyFlow, TSlug extends StepSlug<TFlow>> = StepInputIn<
  TFlow[typeof flowTypes]['input'],
  TFlow[typeof flowTypes]['steps'],
  TFlow[typeof flowTypes]['deps'],
  TSlug
>

/** The output of a step as others see it; for a map, the array of its handler's results. */
export type StepOutput<TFlow extends AnyFlow, TSlug extends StepSlug<TFlow>> = OutputOf<
  TFlow[typeof flowTypes]['steps'][TSlug & keyof TFlow[typeof flowTypes]['steps']]
>

/** The second argument of the handlers of a flow. */
export type FlowContext<TFlow extends AnyFlow> = HandlerContext<
  ExtractFlowInput<TFlow>,
  ExtractFlowContext<TFlow>,
  ExtractFlowEnv<TFlow>
>

/**
 * The object of outputs that a dependent step gets. A dependency that can be skipped is optional. One that can only be
 * skipped with `skip-cascade` is not: its dependents are then skipped too, so none ever runs without it.
 */
export type DependencyOutputs<TSteps, TDep extends keyof TSteps> = Simplify<
  {
    [K in TDep as 'skip' extends SkipsOf<TSteps, K> ? never : K]: OutputOf<TSteps[K]>
  } & {
    [K in TDep as 'skip' extends SkipsOf<TSteps, K> ? K : never]?: OutputOf<TSteps[K]>
  }
>

/** The ways in which a step can be skipped. */
export type SkipsOf<TSteps, TSlug> = TSlug extends keyof TSteps
  ? TSteps[TSlug] extends { skips: infer TSkips }
    ? TSkips
    : never
  : never

export type OutputOf<TStep> = TStep extends { output: infer TOutput } ? TOutput : never

export type Simplify<T> = { [K in keyof T]: T[K] } & unknown

type DependencySlugs<TFlow extends AnyFlow> = TFlow[typeof flowTypes]['deps'][keyof TFlow[typeof flowTypes]['deps']]

type StepInputIn<TInput, TSteps, TDeps, TSlug> = TSteps[TSlug & keyof TSteps] extends { type: 'wait' }
  ? never
  : TSteps[TSlug & keyof TSteps] extends { type: 'map' }
    ? ElementOf<[DepOf<TDeps, TSlug>] extends [never] ? TInput : OutputOf<TSteps[DepOf<TDeps, TSlug> & keyof TSteps]>>
    : [DepOf<TDeps, TSlug>] extends [never]
      ? TInput
      : DependencyOutputs<TSteps, DepOf<TDeps, TSlug> & keyof TSteps>

type DepOf<TDeps, TSlug> = TSlug extends keyof TDeps ? TDeps[TSlug] : never

/** What an array has in it. */
export type ElementOf<T> = T extends readonly (infer TElement)[] ? TElement : never
