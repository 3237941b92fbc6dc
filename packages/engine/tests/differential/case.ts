import type { Json, JsonObject, SkipMode, StepRuntimeOptions } from '@starflow/dsl'

/**
 * One flow with one run of it, as data: all that happens in the run follows from it, so that two machines that agree on the
 * rules agree on the run. Plain JSON, so that a case which once went wrong can be kept as an example.
 */
export interface Case {
  readonly steps: Readonly<Record<string, StepSketch>>
  readonly input: Json
  /** Of the flow, for steps that do not say it themselves. */
  readonly options?: Pick<StepRuntimeOptions, 'maxAttempts' | 'baseDelay' | 'maxDelay'>
  /** Which of the things that could happen next does: see {@link Schedule}. Default: the first of them. */
  readonly choices?: readonly number[]
  /** How often the run is retried as a whole after it has failed. Default 0. */
  readonly retries?: number
  /** The schema of its input refuses whatever comes. */
  readonly refusesInput?: boolean
  /** On the SQL side: one queue, or one per step. Default `flow`. */
  readonly queueMode?: 'flow' | 'step'
}

/** Delays in seconds. They are multiples of {@link UNIT_SECONDS}. */
export interface StepSketch extends Pick<StepRuntimeOptions, 'maxAttempts' | 'baseDelay' | 'maxDelay' | 'startDelay'> {
  /** Default `step`. */
  readonly kind?: 'step' | 'array' | 'map' | 'wait'
  readonly after?: readonly string[]
  readonly if?: JsonObject
  readonly ifNot?: JsonObject
  readonly whenUnmet?: SkipMode
  readonly whenExhausted?: SkipMode
  /** What its tasks do: element n does the n-th of these, modulo their number. Default: completes with null. */
  readonly does?: readonly Behaviour[]
  /** Of a wait: what becomes of it when it stands open, at first and after each retry of the run; the last one goes on. Default: resumed with null. */
  readonly answers?: readonly WaitAnswer[]
}

/** What a task does, attempt by attempt: it fails with these, one after another, and then gives the output. */
export interface Behaviour {
  readonly fails?: readonly Failure[]
  readonly gives: Output
}

export type Failure =
  | { readonly throws: string }
  /** For good. */
  | { readonly givesUp: string }
  /** A delay of null is one that cannot be used. */
  | { readonly asksFor: number | null }
  /** An output that JSON or Postgres cannot hold. */
  | { readonly returns: 'bigint' | 'nul' | 'function' }

export type Output = { readonly value: Json } | 'undefined' | 'input' | '[input]' | 'flow input'

/** `timeout`: nobody resumes it. Null as a payload is JSON's null. */
export type WaitAnswer = 'timeout' | { readonly payload: Json }

/**
 * Time in both machines is told in these. The SQL core's clock cannot be stopped, so a test moves rows into the past instead;
 * what really passes meanwhile is rounded away, however slow the computer is.
 */
export const UNIT_SECONDS = 1000
/** Timeouts of waits are 2^n of these: longer than all delays of a run together, and no two sums of them are equal. */
const WAIT_UNIT_SECONDS = 1_000_000

/** The seconds that a wait stays open: it has a timeout where it needs one. */
export function waitTimeout(step: StepSketch, index: number): number | undefined {
  return step.answers?.includes('timeout') ? WAIT_UNIT_SECONDS * 2 ** index : undefined
}

/** The answer of a wait in a run that was retried so often. */
export function waitAnswer(step: StepSketch, retries: number): WaitAnswer {
  const answers = step.answers ?? []
  return answers[Math.min(retries, answers.length - 1)] ?? { payload: null }
}

export function waitsOf(one: Case): readonly [string, StepSketch][] {
  return Object.entries(one.steps).filter(([, { kind }]) => kind === 'wait')
}

/** The same flow and run with nothing in it that takes time: no delays, no retries of the run, and every wait is resumed. */
export function withoutTime(one: Case): Case {
  const steps = Object.entries(one.steps).map(([slug, step]): [string, StepSketch] => {
    const does = step.does?.map(({ fails = [], gives }) => ({
      gives,
      fails: fails.map((failure) => ('asksFor' in failure ? { asksFor: 0 } : failure)),
    }))
    const answers = step.answers?.map((answer) => (answer === 'timeout' ? { payload: [] } : answer))
    const delays = step.kind === 'wait' ? {} : { baseDelay: 0, startDelay: 0 }
    return [slug, { ...step, ...delays, ...(does && { does }), ...(answers && { answers }) }]
  })
  return { ...one, retries: 0, steps: Object.fromEntries(steps), options: { ...one.options, baseDelay: 0 } }
}

/** Makes the choices of a case, one after another and over again. Two that were made of the same case choose alike. */
export class Schedule {
  readonly #choices: readonly number[]
  #next = 0

  constructor({ choices = [] }: Case) {
    this.#choices = choices
  }

  choose<T>(options: readonly T[]): T {
    const choice = this.#choices[this.#next++ % this.#choices.length] ?? 0
    return options[choice % options.length]!
  }
}
