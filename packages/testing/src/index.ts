export { type FlowReport, type HandlerCall, type RunFlowOptions, runFlow, type StepReport } from './run-flow.ts'
export { failTimes, type StandIn, TIMES_OUT, type WaitAnswer } from './stand-in.ts'
