import type { Env, StepContext } from './context.ts'
import type { FlowTypeError } from './flow-type-error.ts'
import type { AnyFlow, ExtractFlowContext, ExtractFlowEnv, ExtractFlowInput, flowTypes } from './flow-types.ts'

/**
 * The flow when a platform gives all that it asks for, else a sentence that names what is missing.
 *
 * Environment variables cannot be seen by the compiler: a flow's TEnv is believed, unless the platform says with the third
 * parameter which it has.
 *
 * @example
 * declare function start<TFlow extends AnyFlow>(flow: TFlow & CompatibleFlow<TFlow>): void
 *
 * @typeParam TResources what the platform adds to the context of every handler
 */
export type CompatibleFlow<TFlow extends AnyFlow, TResources = unknown, TEnv = unknown> = [
  MissingEnv<TFlow, TEnv>,
] extends [never]
  ? CompatibleContext<
      ExtractFlowContext<TFlow>,
      StepContext<ExtractFlowInput<TFlow>, ExtractFlowEnv<TFlow>> & TResources,
      TFlow
    >
  : FlowTypeError<`This flow needs environment variables that the worker does not have: ${MissingEnv<TFlow, TEnv>}`>

/**
 * A flow that needs nothing in its context beyond what every worker gives. A type parameter that extends AnyFlow passes this check;
 * the concrete flow that the caller passes is checked in its place.
 */
export interface ServedFlow {
  readonly [flowTypes]: { readonly compatible: true }
}

/** `TYes` when the provided context has everything that is needed, otherwise a sentence that names what is missing. */
export type CompatibleContext<TNeeds, TProvided, TYes = true> = [MissingKeys<Omit<TNeeds, 'env'>, TProvided>] extends [
  never,
]
  ? TYes
  : FlowTypeError<`This flow needs a context that the worker does not give: ${MissingKeys<Omit<TNeeds, 'env'>, TProvided>}`>

type MissingEnv<TFlow extends AnyFlow, TEnv> = unknown extends TEnv ? never : MissingKeys<RequiredEnv<TFlow>, TEnv>

type RequiredEnv<TFlow extends AnyFlow> = (Env extends ExtractFlowEnv<TFlow> ? unknown : ExtractFlowEnv<TFlow>) &
  (ExtractFlowContext<TFlow> extends { env: infer TEnv } ? TEnv : unknown)

type MissingKeys<TNeeds, TProvided> = {
  [K in keyof TNeeds & string]: K extends keyof TProvided ? (TProvided[K] extends TNeeds[K] ? never : K) : K
}[keyof TNeeds & string]
