import { FlowQueueNameError, type QueueNameCandidates, StepQueueNameError } from './step-queue-error.ts'

/**
 * The longest queue name, in characters. pgmq puts at most 16 characters before it (`template_pgmq_q_`) and a Postgres
 * identifier has 63.
 */
export const MAX_QUEUE_NAME_LENGTH = 47

/** The one queue of a flow without step queues. */
export function defaultQueueName(flowSlug: string): string {
  return flowSlug.toLowerCase()
}

/**
 * The private queue of one step: its readable name when that fits, else the fallback by zero-based index. Names are never
 * truncated or hashed. SQL decides in the end; `vectors/names.json` holds both to the same answers.
 *
 * @throws FlowQueueNameError when no step of this flow can have a queue, StepQueueNameError when this one cannot.
 */
export function resolveQueueName(flowSlug: string, stepSlug: string, stepIndex: number): string {
  const candidates = queueNameCandidates(flowSlug, stepSlug, stepIndex)
  if (candidates.readableLength <= MAX_QUEUE_NAME_LENGTH) return candidates.readableName
  if (candidates.fallbackLength <= MAX_QUEUE_NAME_LENGTH) return candidates.fallbackName
  if (`${flowSlug}__0`.length > MAX_QUEUE_NAME_LENGTH) throw new FlowQueueNameError(candidates)
  throw new StepQueueNameError(candidates)
}

function queueNameCandidates(flowSlug: string, stepSlug: string, stepIndex: number): QueueNameCandidates {
  const readableName = `${flowSlug}__${stepSlug}`.toLowerCase()
  const fallbackName = `${flowSlug}__${stepIndex}`.toLowerCase()
  return {
    flowSlug,
    stepSlug,
    stepIndex,
    readableName,
    readableLength: readableName.length,
    fallbackName,
    fallbackLength: fallbackName.length,
    maxLength: MAX_QUEUE_NAME_LENGTH,
  }
}
