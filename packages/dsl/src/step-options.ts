import type { FlowTypeError } from './flow-type-error.ts'
import type { DependencyOutputs, OutputOf } from './flow-types.ts'
import type { InputPattern } from './input-pattern.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { SkipMode, StepRuntimeOptions } from './step-option.ts'

/** What `.step` and `.array` take: a slug, dependencies, a condition, runtime options. */
export interface StepOptions<
  TInput,
  TSteps,
  TSlug extends string,
  TDep extends keyof TSteps & string,
  TIf,
  TIfNot,
  TWhenUnmet extends SkipMode,
  TWhenExhausted extends SkipMode,
  TTransactional extends boolean,
> extends StepRuntimeOptions,
    TransactionOptions<TTransactional>,
    ConditionOptions<ConditionInput<TInput, TSteps, TDep>, TIf, TIfNot, TWhenUnmet, TWhenExhausted> {
  /** Letters, digits and single underscores; begins with a letter; unique in its flow, whatever the case. */
  readonly slug: TSlug & NewSlug<TSlug, TSteps>
  /** Steps that must be done first. Their outputs are the handler's input. */
  readonly dependsOn?: readonly TDep[]
}

/** What `.map` takes. */
export interface MapOptions<
  TInput,
  TSteps,
  TSlug extends string,
  TArray extends keyof TSteps & string,
  TIf,
  TIfNot,
  TWhenUnmet extends SkipMode,
  TWhenExhausted extends SkipMode,
  TTransactional extends boolean,
> extends StepRuntimeOptions,
    TransactionOptions<TTransactional>,
    ConditionOptions<ConditionInput<TInput, TSteps, TArray>, TIf, TIfNot, TWhenUnmet, TWhenExhausted> {
  /** Letters, digits and single underscores; begins with a letter; unique in its flow, whatever the case. */
  readonly slug: TSlug & NewSlug<TSlug, TSteps>
  /** The step whose array this maps over. Without it the map goes over the flow's input. */
  readonly array?: TArray & MappableStep<TSteps, TArray>
}

/** What `.wait` takes: no retries and no delays, since nothing is run. */
export interface WaitOptions<
  TInput,
  TSteps,
  TSlug extends string,
  TPayload,
  TDep extends keyof TSteps & string,
  TIf,
  TIfNot,
  TWhenUnmet extends SkipMode,
  TWhenExhausted extends SkipMode,
> extends ConditionOptions<ConditionInput<TInput, TSteps, TDep>, TIf, TIfNot, TWhenUnmet, TWhenExhausted> {
  /** Letters, digits and single underscores; begins with a letter; unique in its flow, whatever the case. */
  readonly slug: TSlug & NewSlug<TSlug, TSteps>
  /** Steps that must be done before the wait opens. */
  readonly dependsOn?: readonly TDep[]
  /** Seconds that the wait stays open. Then it has failed, and whenExhausted says what follows. Default: no limit. */
  readonly timeout?: number | undefined
  /**
   * A schema of what a resume brings, of any Standard Schema library: it gives the wait its output type. `unchecked<T>()`
   * where there is no schema. The database does not check it: check payloads from strangers before you resume.
   */
  readonly payload?: StandardSchemaV1<TPayload>
}

interface TransactionOptions<TTransactional extends boolean> {
  /**
   * The handler gets a transaction, `ctx.tx`, in which its end is reported too: what it writes is there exactly when the
   * step has completed, and exactly once. Default false.
   */
  readonly transactional?: TTransactional
}

interface ConditionOptions<TConditionInput, TIf, TIfNot, TWhenUnmet extends SkipMode, TWhenExhausted extends SkipMode> {
  /** The step runs when this is contained in its input. Checked once its dependencies are done. */
  readonly if?: InputPattern<TConditionInput> & Presence<TIf>
  /** The step runs when this is not contained in its input. */
  readonly ifNot?: InputPattern<TConditionInput> & Presence<TIfNot>
  /** When the condition does not hold: skip (the default), skip with all that depends on it, or fail the run. */
  readonly whenUnmet?: TWhenUnmet & NeedsCondition<TIf | TIfNot>
  /** When the last attempt failed, or a wait timed out: fail the run (the default), skip, or skip with all that depends on it. */
  readonly whenExhausted?: TWhenExhausted
}

/** The ways in which these options can have a step skipped; those of its dependencies that cascade come with them. */
export type SkipsOfOptions<TSteps, TDep, TCondition, TWhenUnmet, TWhenExhausted> =
  | ([TCondition] extends [never] ? never : Exclude<TWhenUnmet, 'fail'>)
  | Exclude<TWhenExhausted, 'fail'>
  | CascadesOf<TSteps, TDep>

type CascadesOf<TSteps, TDep> = TDep extends keyof TSteps
  ? TSteps[TDep] extends { skips: infer TSkips }
    ? Extract<TSkips, 'skip-cascade'>
    : never
  : never

/** What a pattern is matched against. For a map that is not its element but all of its input. */
type ConditionInput<TInput, TSteps, TDep extends keyof TSteps> = [TDep] extends [never]
  ? TInput
  : Required<DependencyOutputs<TSteps, TDep>>

/**
 * Infers T from whatever is given and stays `never` when nothing is, without widening what is accepted: the checked type
 * is `unknown` once T is known, so that the pattern beside it still refuses unknown keys.
 */
type Presence<T> = [T] extends [never] ? T : unknown

/** Refuses a slug that the flow has already. */
export type NewSlug<TSlug extends string, TSteps> = string extends TSlug | keyof TSteps
  ? unknown
  : TSlug extends keyof TSteps
    ? FlowTypeError<`This flow already has a step "${TSlug}"`>
    : unknown

type NeedsCondition<TCondition> = [TCondition] extends [never]
  ? FlowTypeError<'whenUnmet says what happens when a condition does not hold: add `if` or `ifNot`'>
  : unknown

type MappableStep<TSteps, TArray extends keyof TSteps & string> = [TArray] extends [never]
  ? unknown
  : OutputOf<TSteps[TArray]> extends readonly unknown[]
    ? unknown
    : FlowTypeError<`Step "${TArray}" does not return an array, so there is nothing to map over`>

/** Asks a map without `array` for a flow whose input is an array. */
export type MappableInput<TInput, TArray> = [TArray] extends [never]
  ? TInput extends readonly unknown[]
    ? unknown
    : FlowTypeError<'A map without `array` goes over the flow input, which is not an array: name the step to map over'>
  : unknown
