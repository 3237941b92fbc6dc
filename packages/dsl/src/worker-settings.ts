import { StarflowError } from '@starflow/errors'
import { refuseForeignFlow } from './flow-brand.ts'
import type { AnyFlow, HandledStepSlug } from './flow-types.ts'
import { InvalidStepOptionError } from './invalid-step-option-error.ts'
import { checkInteger, checkOptionNames } from './step-option.ts'
import { isStepQueuedFlow, requireHandledStep, type StepQueuedFlow } from './step-queued-flow.ts'
import { UnknownStepError } from './unknown-step-error.ts'

/** How the workers of one step are deployed. These settings are not part of the flow: changing them needs no new slug. */
export interface WorkerSettings {
  /** Handlers that one worker runs at once. */
  readonly maxConcurrent?: number | undefined
  /** Messages that one read takes at most. */
  readonly batchSize?: number | undefined
  /** Worker functions that share the step's queue, 1 to 20. */
  readonly instances?: number | undefined
  /** Database connections of one worker. */
  readonly maxPgConnections?: number | undefined
  /**
   * `skip` warns about messages in the step's queue that belong to no task of it and goes on; `halt` stops the worker function
   * that has read one. Default `skip`.
   */
  readonly onUnsupportedMessage?: UnsupportedMessagePolicy | undefined
}

/** What a worker does about messages that belong to no task. */
export type UnsupportedMessagePolicy = (typeof UNSUPPORTED_MESSAGE_POLICIES)[number]

const UNSUPPORTED_MESSAGE_POLICIES = ['skip', 'halt'] as const

/** A step-queued flow with the settings of its workers by step. */
export interface WorkerDefinition<TFlow extends AnyFlow = AnyFlow, TSlug extends string = HandledStepSlug<TFlow>> {
  readonly flow: StepQueuedFlow<TFlow, TSlug>
  readonly settings: { readonly [K in TSlug]?: WorkerSettings }
}

const LARGEST_VALUES = { maxConcurrent: 10_000, batchSize: 10_000, instances: 20, maxPgConnections: 1_000 } as const

/**
 * Says how the workers of a step-queued flow are deployed. Export it from the flow module as `workers`: generated worker
 * functions import it.
 *
 * @throws UnknownStepError for a step that the flow does not have, StepIsWaitError for a wait, InvalidStepOptionError for
 *   a value that cannot be, ForeignFlowError for a flow of another library
 *
 * @example
 * export const workers = defineWorkers(communityThreads, { classify: { maxConcurrent: 4 }, deliverSlack: { instances: 3 } })
 */
export function defineWorkers<TFlow extends AnyFlow>(
  flow: StepQueuedFlow<TFlow>,
  settings: { readonly [K in HandledStepSlug<NoInfer<TFlow>>]?: WorkerSettings },
): WorkerDefinition<TFlow> {
  if (!isStepQueuedFlow(flow)) {
    refuseForeignFlow('defineWorkers was given', flow)
    throw new StarflowError({
      code: 'SF001',
      message: 'defineWorkers takes a step-queued flow.',
      detail: 'Settings by step need a worker per step.',
      hint: 'Pass what withStepQueues(flow) returns. The one worker of a plain flow is set in EdgeWorker.start.',
    })
  }
  const checked: Record<string, WorkerSettings> = Object.create(null)
  for (const [stepSlug, stepSettings] of Object.entries<WorkerSettings | undefined>(settings)) {
    if (!flow.flow.stepOrder.includes(stepSlug)) {
      throw new UnknownStepError(flow.flow.slug, stepSlug, flow.flow.stepOrder)
    }
    requireHandledStep(flow, stepSlug)
    if (stepSettings !== undefined) checked[stepSlug] = checkSettings(flow.flow.slug, stepSlug, stepSettings)
  }
  return Object.freeze({ flow, settings: Object.freeze(checked) as WorkerDefinition<TFlow>['settings'] })
}

function checkSettings(flowSlug: string, stepSlug: string, settings: WorkerSettings): WorkerSettings {
  const owner = `The worker of step "${stepSlug}" of flow "${flowSlug}"`
  checkOptionNames(owner, settings, [...Object.keys(LARGEST_VALUES), 'onUnsupportedMessage'])
  for (const [option, largest] of Object.entries(LARGEST_VALUES)) {
    const value = settings[option as keyof WorkerSettings]
    if (value !== undefined) checkInteger(owner, option, value, 1, largest)
  }
  checkPolicy(owner, settings.onUnsupportedMessage)
  return Object.freeze({ ...settings })
}

function checkPolicy(owner: string, value: unknown): void {
  if (value === undefined || UNSUPPORTED_MESSAGE_POLICIES.includes(value as UnsupportedMessagePolicy)) return
  throw new InvalidStepOptionError({
    owner,
    option: 'onUnsupportedMessage',
    value,
    rule: `must be ${UNSUPPORTED_MESSAGE_POLICIES.map((policy) => `'${policy}'`).join(' or ')}`,
  })
}
