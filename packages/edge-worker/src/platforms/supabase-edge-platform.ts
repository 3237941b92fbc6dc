import { DEFAULT_WALL_CLOCK_MS } from '../numbers.ts'
import type { Platform } from '../platform.ts'
import { denoGlobals } from './deno-globals.ts'
import { denoPlatform, wallClock } from './deno-platform.ts'

/**
 * Supabase Edge Functions, hosted and local: Deno with a wall clock and `EdgeRuntime.waitUntil`. A worker without a
 * pending `waitUntil` is dropped at half of the wall clock, so its whole life is given to it.
 */
export function supabaseEdgePlatform(): Platform {
  const deno = denoPlatform()
  const { STARFLOW_WALL_CLOCK_MS } = deno.env
  return {
    ...deno,
    name: 'supabase-edge',
    wallClockMs: wallClock(STARFLOW_WALL_CLOCK_MS, DEFAULT_WALL_CLOCK_MS),
    extendLifetime: (promise) => {
      // A rejection given to waitUntil counts as unhandled.
      denoGlobals.EdgeRuntime?.waitUntil(promise.catch(() => {}))
    },
  }
}
