import { firstPathSegment, type Platform } from '../platform.ts'
import { denoGlobals } from './deno-globals.ts'

/** Plain Deno: no wall clock unless STARFLOW_WALL_CLOCK_MS sets one, nothing to extend. */
export function denoPlatform(): Platform {
  const { Deno } = denoGlobals
  if (Deno === undefined) throw new Error('This is not Deno.')
  const bootedAt = performance.now()
  const env = Object.freeze(Deno.env.toObject())
  const { STARFLOW_WALL_CLOCK_MS, STARFLOW_FUNCTION_NAME } = env
  return {
    name: 'deno',
    startMode: 'http',
    env,
    wallClockMs: wallClock(STARFLOW_WALL_CLOCK_MS, null),
    drainTimeoutMs: 0,
    ageMs: () => performance.now() - bootedAt,
    cpuMs: () => null,
    functionName: (request) => STARFLOW_FUNCTION_NAME || firstPathSegment(request),
    onShutdown: (listener) =>
      denoGlobals.addEventListener?.('beforeunload', (event) => listener(String(event.detail?.reason ?? 'unload'))),
    extendLifetime: () => {},
    serve: (handler) => void Deno.serve(handler),
    cannotGoOn: () => {},
  }
}

/** Parses a wall clock; anything but a positive number of milliseconds means `fallback`. `0` means no limit. */
export function wallClock(text: string | undefined, fallback: number | null): number | null {
  if (text === undefined || text.trim() === '') return fallback
  const parsed = Number(text)
  if (parsed === 0) return null
  return Number.isFinite(parsed) && parsed > 0 ? parsed : fallback
}
