import type { AnyFlow, ExtractFlowOutput, StepOutput, StepSlug } from '@starflow/dsl'
import type { RunStatus, StepStatus } from './run-state.ts'

/** A run has come to a status. */
export type RunEvent<TFlow extends AnyFlow = AnyFlow> = {
  [TStatus in RunStatus]: {
    readonly type: `run:${TStatus}`
    readonly runId: string
    readonly status: TStatus
    /** By the clock of the database. */
    readonly at: Date
    /** Null unless the run completed. */
    readonly output: TStatus extends 'completed' ? ExtractFlowOutput<TFlow> : null
  }
}[RunStatus]

/** A step has come to a status. */
export type StepEvent<TFlow extends AnyFlow = AnyFlow, TSlug extends StepSlug<TFlow> = StepSlug<TFlow>> = {
  [TStatus in Exclude<StepStatus, 'created'>]: {
    readonly type: `step:${TStatus}`
    readonly runId: string
    readonly stepSlug: TSlug
    readonly status: TStatus
    /** By the clock of the database. */
    readonly at: Date
    /** Null unless the step completed. */
    readonly output: TStatus extends 'completed' ? StepOutput<TFlow, TSlug> : null
  }
}[Exclude<StepStatus, 'created'>]

/** Whatever happens to a run or to one of its steps; told apart by `type`, and then by `stepSlug`. */
export type FlowEvent<TFlow extends AnyFlow = AnyFlow> =
  | RunEvent<TFlow>
  | { [TSlug in StepSlug<TFlow>]: StepEvent<TFlow, TSlug> }[StepSlug<TFlow>]
