import { StarflowError } from '@starflow/errors'

/** What one isolate may use. The defaults are those of Supabase's edge runtime on a paid plan. */
export interface IsolateLimits {
  /** Life of an isolate. At half of it no further request reaches it, at 90 % it is told, at the end it is killed. */
  readonly wallClockMs: number
  /** CPU time after boot, over the whole life, at which an isolate is retired. */
  readonly cpuSoftMs: number
  /** CPU time after boot, over the whole life, at which an isolate is killed; at 90 % of it the isolate is told. */
  readonly cpuHardMs: number
  /** JavaScript heap, and growth of resident memory after boot. Retired at 50 %, told at 90 %, killed at 100 %. */
  readonly memoryMb: number
  /** From the start of the process until it listens. */
  readonly bootTimeoutMs: number
  /** How long a caller waits for the first byte of an answer. */
  readonly requestIdleMs: number
  /** How long an isolate may go on with open requests and `waitUntil` promises once it was told to end. */
  readonly terminationGraceMs: number
}

export const DEFAULT_ISOLATE_LIMITS: IsolateLimits = Object.freeze({
  wallClockMs: 400_000,
  cpuSoftMs: 1_000,
  cpuHardMs: 2_000,
  memoryMb: 256,
  bootTimeoutMs: 10_000,
  requestIdleMs: 150_000,
  terminationGraceMs: 5_000,
})

/** Share of the wall clock, CPU and memory limits at which `beforeunload` is dispatched. */
export const BEFOREUNLOAD_RATIO = 0.9
/** Share of the wall clock after which an isolate gets no further requests. */
export const RETIRE_WALL_CLOCK_RATIO = 0.5
/** Share of the memory limit after which an isolate gets no further requests. */
export const RETIRE_MEMORY_RATIO = 0.5

/** Fills in the defaults. Throws SF001 for a limit that is unknown, not positive, or a soft above a hard one. */
export function resolveIsolateLimits(limits: Partial<IsolateLimits> = {}): IsolateLimits {
  const known = Object.keys(DEFAULT_ISOLATE_LIMITS)
  for (const [name, value] of Object.entries(limits)) {
    if (!known.includes(name)) {
      throw new StarflowError({
        code: 'SF001',
        message: `"${name}" is not a limit of the functions host.`,
        detail: `The limits are ${known.join(', ')}.`,
        hint: 'Use one of them.',
      })
    }
    if (value !== undefined && !(Number.isFinite(value) && value > 0)) {
      throw new StarflowError({
        code: 'SF001',
        message: `The limit ${name} must be a positive number.`,
        detail: `It is ${String(value)}.`,
        hint: 'Leave it out to get the limit of the edge runtime.',
      })
    }
  }
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
  const resolved: IsolateLimits = Object.freeze({ ...DEFAULT_ISOLATE_LIMITS, ...given })
  if (resolved.cpuSoftMs > resolved.cpuHardMs) {
    throw new StarflowError({
      code: 'SF001',
      message: 'The soft CPU limit must not be above the hard one.',
      detail: `cpuSoftMs is ${resolved.cpuSoftMs}, cpuHardMs is ${resolved.cpuHardMs}.`,
      hint: 'Give both, the hard one higher.',
    })
  }
  return resolved
}
