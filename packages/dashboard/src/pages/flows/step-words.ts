import { formatDuration } from '../../format/duration.ts'
import type { FlowStep } from './flow-queries.ts'

const WHEN_UNMET = {
  fail: 'Else the run fails.',
  skip: 'Else it is skipped, and what follows goes on without it.',
  'skip-cascade': 'Else it is skipped, with all that depends on it.',
} as const

/** What happens to a step whose condition is not met. */
export function unmetText(whenUnmet: keyof typeof WHEN_UNMET): string {
  return WHEN_UNMET[whenUnmet]
}

const WHEN_EXHAUSTED = {
  fail: 'When its last attempt fails, the run fails.',
  skip: 'When its last attempt fails it is skipped, and what follows goes on without it.',
  'skip-cascade': 'When its last attempt fails it is skipped, with all that depends on it.',
} as const

/** How often and how patiently a step is tried, in sentences. */
export function attemptsText({ type, options, whenExhausted }: FlowStep): readonly string[] {
  const { maxAttempts, baseDelaySeconds, maxDelaySeconds, timeoutSeconds, startDelaySeconds } = options
  const duration = (seconds: number) => formatDuration(seconds * 1000)
  if (type === 'wait') {
    const end = WHEN_EXHAUSTED[whenExhausted].replace('its last attempt fails', 'it times out')
    return timeoutSeconds === null
      ? ['It waits until somebody decides.']
      : [`It waits ${duration(timeoutSeconds)} at most.`, end]
  }
  return [
    ...(startDelaySeconds ? [`It begins ${duration(startDelaySeconds)} after it could.`] : []),
    ...(timeoutSeconds === null ? [] : [`An attempt may take ${duration(timeoutSeconds)}.`]),
    ...(maxAttempts === null ? [] : [maxAttempts === 1 ? 'It is tried once.' : `It is tried ${maxAttempts} times.`]),
    ...(maxAttempts === 1 || baseDelaySeconds === null
      ? []
      : [
          `Between attempts ${duration(baseDelaySeconds)}, doubling${
            maxDelaySeconds === null ? '' : ` up to ${duration(maxDelaySeconds)}`
          }.`,
        ]),
    WHEN_EXHAUSTED[whenExhausted],
  ]
}
