const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** An instant in the time of whoever looks: `1 Mar 2026, 12:00:00`. */
export function formatInstant(at: string | number): string {
  return full.format(new Date(at))
}

/** The time of a day: `12:00`. */
export function formatClock(at: string | number): string {
  return clock.format(new Date(at))
}

/** A day: `1 Mar`. */
export function formatDay(at: string | number): string {
  return day.format(new Date(at))
}
