import type { StarflowError } from '@starflow/errors'

/** Why an isolate gets no further requests. */
export type RetireReason = 'wall_clock' | 'cpu' | 'memory' | 'reload' | 'termination'

/** `ev.detail.reason` of the `beforeunload` event inside an isolate. */
export type UnloadReason = 'cpu' | 'memory' | 'wall_clock' | 'early_drop' | 'termination'

/**
 * Why an isolate is gone: a limit; `early_drop` (retired and nothing left to do); `termination` (the host stops);
 * `reload` (its files changed); `killed` (SIGKILL from outside); `boot_error`; `error` (it ended by itself).
 */
export type ExitReason =
  | 'wall_clock'
  | 'cpu'
  | 'memory'
  | 'early_drop'
  | 'termination'
  | 'reload'
  | 'killed'
  | 'boot_error'
  | 'error'

interface OfIsolate {
  /** Name of the edge function. */
  readonly name: string
  /** The isolate's id, `SB_EXECUTION_ID` inside it. */
  readonly id: string
}

/** What the functions host tells. Bodies of requests and answers are never part of it. */
export type FunctionsEvent =
  | (OfIsolate & { readonly type: 'function.booted'; readonly pid: number })
  | (OfIsolate & { readonly type: 'function.listening'; readonly pid: number; readonly bootMs: number })
  | (OfIsolate & { readonly type: 'function.log'; readonly level: 'info' | 'error'; readonly line: string })
  | (OfIsolate & { readonly type: 'function.retired'; readonly reason: RetireReason })
  | (OfIsolate & { readonly type: 'function.unloading'; readonly reason: UnloadReason })
  | (OfIsolate & { readonly type: 'function.boot_failed'; readonly error: StarflowError })
  | (OfIsolate & {
      readonly type: 'function.exited'
      readonly reason: ExitReason
      /** CPU time after boot, measured from outside. */
      readonly cpuMs: number
      readonly lifetimeMs: number
      readonly requests: number
    })
  /** A file has changed, and these functions are made of it: they boot anew, and their isolates end once the new ones listen. */
  | { readonly type: 'functions.reloaded'; readonly path: string; readonly functions: readonly string[] }

export type FunctionsEventListener = (event: FunctionsEvent) => void
