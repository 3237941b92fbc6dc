import { InvalidStepOptionError } from './invalid-step-option-error.ts'

/** Retries, delays and timeouts: changed in code, they apply from the next start of a worker. */
export interface RuntimeOptions {
  /** Attempts in all. 0 and 1 mean: the first failure is final. Default 3. */
  readonly maxAttempts?: number | undefined
  /** Seconds; the delay before retry n is baseDelay × 2ⁿ. Default 5. */
  readonly baseDelay?: number | undefined
  /** Seconds; no retry waits longer. Default one day. */
  readonly maxDelay?: number | undefined
  /** Seconds that one attempt may take. Default 60. */
  readonly timeout?: number | undefined
}

export interface StepRuntimeOptions extends RuntimeOptions {
  /** Seconds between the moment a step is ready and its first attempt. Default 0. */
  readonly startDelay?: number | undefined
}

/** What happens to a step whose condition does not hold, or whose attempts are used up. */
export type SkipMode = 'fail' | 'skip' | 'skip-cascade'

// int4, the type of these columns.
const MAX_INTEGER = 2_147_483_647

const SMALLEST_VALUES = { maxAttempts: 0, baseDelay: 0, maxDelay: 0, timeout: 1, startDelay: 0 } as const

export type RuntimeOptionName = keyof typeof SMALLEST_VALUES

/** The options that are set, frozen. `owner` names the flow or step in a refusal. */
export function checkRuntimeOptions<TName extends RuntimeOptionName>(
  owner: string,
  options: { readonly [K in TName]?: unknown },
  names: readonly TName[],
): { readonly [K in TName]?: number } {
  const checked: { [K in TName]?: number } = {}
  for (const name of names) {
    const value = options[name]
    if (value !== undefined) checked[name] = checkInteger(owner, name, value, SMALLEST_VALUES[name], MAX_INTEGER)
  }
  return Object.freeze(checked)
}

export function checkInteger(owner: string, option: string, value: unknown, smallest: number, largest: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < smallest || value > largest) {
    throw new InvalidStepOptionError({
      owner,
      option,
      value,
      rule: `must be an integer from ${smallest} to ${largest}`,
    })
  }
  return value
}

export function checkSkipMode(owner: string, option: 'whenUnmet' | 'whenExhausted', value: unknown): SkipMode {
  if (value !== 'fail' && value !== 'skip' && value !== 'skip-cascade') {
    throw new InvalidStepOptionError({ owner, option, value, rule: "must be 'fail', 'skip' or 'skip-cascade'" })
  }
  return value
}

/** Refuses an option that is not read anywhere, and names those that exist. */
export function checkOptionNames(owner: string, options: object, known: readonly string[]): void {
  for (const [option, value] of Object.entries(options)) {
    if (value !== undefined && !known.includes(option)) {
      throw new InvalidStepOptionError({
        owner,
        option,
        value,
        rule: 'is not an option here',
        hint: `The options are: ${known.join(', ')}.`,
      })
    }
  }
}
