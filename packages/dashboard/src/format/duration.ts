const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A duration in at most two units, of about the same width whatever it is: `12 ms`, `1.5 s`, `3 m 20 s`, `2 h 05 m`, `4 d 3 h`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 0) return `−${formatDuration(-ms)}`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 9_950) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < MINUTE - 500) return `${Math.round(ms / SECOND)} s`
  const seconds = Math.round(ms / SECOND)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${twoDigits(seconds % 60)} s`
  const minutes = Math.floor(seconds / 60)
  if (ms < DAY) return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} m`
  const hours = Math.floor(ms / HOUR)
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** A duration of which fractions of a millisecond matter: `0.31 ms`, `12.5 ms`, then as any other. */
export function formatFineDuration(ms: number): string {
  if (ms < 9.995) return `${ms.toFixed(2)} ms`
  return ms < 99.95 ? `${ms.toFixed(1)} ms` : formatDuration(ms)
}

/** An age in one unit, for times that tick: `now`, `12 s`, `3 m`, `2 h`, `4 d`. */
export function formatAge(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < SECOND) return 'now'
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`
  return `${Math.floor(ms / DAY)} d`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
