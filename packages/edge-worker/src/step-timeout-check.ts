import { StarflowError } from '@starflow/errors'
import type { LifecycleEvent } from './events.ts'
import { CLAIMING_PART_OF_LIFE, DEFAULT_STEP_TIMEOUT_SECONDS } from './numbers.ts'
import { type Subscription, subscribedSteps } from './subscription.ts'

/**
 * Compares step timeouts with the life of this instance. A task may be claimed as late as half of it, so a longer
 * timeout may be cut short; one above the whole of it could never be kept.
 *
 * @returns warnings to log
 * @throws StarflowError SF404
 */
export function checkStepTimeouts(
  subscription: Subscription,
  wallClockMs: number | null,
): Extract<LifecycleEvent, { event: 'worker.step_timeout_long' }>[] {
  if (wallClockMs === null || subscription.kind === 'queue') return []
  const { flow } = subscription
  const wallClockSeconds = wallClockMs / 1000
  const timeouts = subscribedSteps(subscription).map(({ slug, options }) => ({
    stepSlug: slug,
    timeoutSeconds: options.timeout ?? flow.options.timeout ?? DEFAULT_STEP_TIMEOUT_SECONDS,
  }))
  const impossible = timeouts.filter(({ timeoutSeconds }) => timeoutSeconds > wallClockSeconds)
  if (impossible.length > 0) {
    const listed = impossible.map(({ stepSlug, timeoutSeconds }) => `"${stepSlug}" (${timeoutSeconds} s)`).join(', ')
    throw new StarflowError({
      code: 'SF404',
      message: `Flow "${flow.slug}" has steps that may take longer than this function can live: ${listed}.`,
      detail: `The wall clock of this function is ${wallClockSeconds} s.`,
      hint: 'Shorten the timeout, split the step, or run it in a process worker; a longer plan sets STARFLOW_WALL_CLOCK_MS.',
      fields: { flowSlug: flow.slug, steps: impossible, wallClockSeconds },
    })
  }
  return timeouts
    .filter(({ timeoutSeconds }) => timeoutSeconds > wallClockSeconds * CLAIMING_PART_OF_LIFE)
    .map(({ stepSlug, timeoutSeconds }) => ({
      level: 'warn',
      event: 'worker.step_timeout_long',
      timedStep: stepSlug,
      timeoutSeconds,
      wallClockSeconds,
    }))
}
