import { StarflowError } from '@starflow/errors'
import {
  DEFAULT_RETRY_BASE_DELAY_SECONDS,
  DEFAULT_RETRY_LIMIT,
  DEFAULT_RETRY_MAX_DELAY_SECONDS,
  MAX_RETRY_DELAY_SECONDS,
} from './numbers.ts'

/** When a queue worker tries a failed message again. */
export interface RetryConfig {
  /** `exponential` doubles the delay with each retry, `fixed` keeps it. Default `exponential`. */
  readonly strategy?: 'exponential' | 'fixed'
  /** Retries after the first attempt; 0 means that the first failure is final. Default 5. */
  readonly limit?: number
  /** Seconds before the first retry. Default 3. */
  readonly baseDelay?: number
  /** Seconds; no delay grows above it. Default 300. */
  readonly maxDelay?: number
}

export type RetryPolicy = Required<RetryConfig>

/**
 * Checks a retry configuration and fills in the defaults.
 *
 * @returns the policy, and every problem as a sentence
 */
export function resolveRetryPolicy(config: unknown): { policy: RetryPolicy; problems: readonly string[] } {
  const problems: string[] = []
  if (config !== undefined && (typeof config !== 'object' || config === null)) {
    problems.push('"retry" must be an object: { strategy, limit, baseDelay, maxDelay }.')
  }
  const given: Readonly<Record<string, unknown>> = typeof config === 'object' && config !== null ? { ...config } : {}
  for (const key of Object.keys(given)) {
    if (!['strategy', 'limit', 'baseDelay', 'maxDelay'].includes(key)) {
      problems.push(`"retry.${key}" is not an option; the options are strategy, limit, baseDelay, maxDelay.`)
    }
  }
  const { strategy: givenStrategy } = given
  const strategy = givenStrategy ?? 'exponential'
  if (strategy !== 'exponential' && strategy !== 'fixed') {
    problems.push(`"retry.strategy" must be 'exponential' or 'fixed'.`)
  }
  const whole = (key: string, fallback: number, min: number, max: number): number => {
    const value = given[key] ?? fallback
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    problems.push(`"retry.${key}" must be a whole number from ${min} to ${max}.`)
    return fallback
  }
  const baseDelay = whole('baseDelay', DEFAULT_RETRY_BASE_DELAY_SECONDS, 0, MAX_RETRY_DELAY_SECONDS)
  return {
    policy: Object.freeze({
      strategy: strategy === 'fixed' ? 'fixed' : 'exponential',
      limit: whole('limit', DEFAULT_RETRY_LIMIT, 0, 1_000_000),
      baseDelay,
      maxDelay: whole('maxDelay', Math.max(DEFAULT_RETRY_MAX_DELAY_SECONDS, baseDelay), 0, MAX_RETRY_DELAY_SECONDS),
    }),
    problems,
  }
}

/**
 * Seconds until the next attempt, or undefined when no retry is left.
 *
 * @param attempt the number of the attempt that has failed, from 1
 */
export function retryDelay(policy: RetryPolicy, attempt: number): number | undefined {
  if (attempt > policy.limit) return undefined
  const delay = policy.strategy === 'fixed' ? policy.baseDelay : policy.baseDelay * 2 ** (attempt - 1)
  return Math.min(delay, policy.maxDelay)
}

/** The error of a message that was claimed once too often: whoever held it the last time never said how it went. */
export function abandonedMessageError(attempts: number): StarflowError {
  return new StarflowError({
    code: 'SF412',
    message: `The message was claimed ${attempts} times and no worker said how it ended.`,
    detail: 'Each of them died, or lost the message, while its handler ran.',
    hint: 'Look for handlers that take too much memory or CPU, or that block the event loop for longer than the visibility timeout.',
  })
}
