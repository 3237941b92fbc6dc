import type { StatusName } from '../design/status-look.ts'

/** What happens in a part of a bar. `open` is a wait for a decision, which nobody works on. */
export type PortionKind = 'waiting' | 'delayed' | 'running' | 'open'

export interface Portion {
  readonly kind: PortionKind
  /** Of the attempt or step that it is a part of. */
  readonly status: StatusName
  /** Milliseconds from the beginning of the run. */
  readonly from: number
  readonly to: number
  /** It goes on: its end is now. */
  readonly isOpen: boolean
}

/** One bar: a step, or one attempt of it. */
export interface WaterfallRow {
  readonly id: string
  readonly step: string
  /** Of an attempt: which one. */
  readonly attempt: number | null
  /** As of the step or the attempt; how its bar is coloured, and what is said of it. */
  readonly status: StatusName
  readonly portions: readonly Portion[]
}

export interface Waterfall {
  readonly lengthMs: number
  readonly rows: readonly WaterfallRow[]
}

export interface TimedRun {
  /** When the run was made. Instants are ISO 8601, of the database's clock. */
  readonly createdAt: string
  readonly endedAt: string | null
  readonly steps: readonly TimedStep[]
}

export interface TimedStep {
  readonly step: string
  readonly type: 'single' | 'map' | 'wait'
  readonly status: StatusName
  /** From when on its first task could have begun. */
  readonly readyAt: string | null
  readonly startedAt: string | null
  readonly endedAt: string | null
  /** Of a step that is no map, in order; none where none are known. */
  readonly attempts: readonly TimedAttempt[]
}

export interface TimedAttempt {
  readonly attempt: number
  readonly status: StatusName
  /** From when on it could have begun. */
  readonly queuedAt: string | null
  /** Until when it is held back, by a retry's delay or a late start. */
  readonly delayedUntil: string | null
  readonly startedAt: string | null
  readonly endedAt: string | null
}

/** A run that took no time has bars all the same. */
const SHORTEST_MS = 1

/**
 * A run on a time axis: for each step that has begun a row, and for a step that was tried more than once a row for each attempt
 * below. What goes on reaches to now, which is the database's clock: one's own may be wrong.
 */
export function waterfall(run: TimedRun, nowMs: number): Waterfall {
  const originMs = Date.parse(run.createdAt)
  const scale: Scale = { originMs, nowMs: run.endedAt === null ? nowMs : Date.parse(run.endedAt) }
  const rows = run.steps.flatMap((step) => rowsOf(step, scale))
  const lengthMs = Math.max(
    SHORTEST_MS,
    scale.nowMs - originMs,
    ...rows.flatMap(({ portions }) => portions.map(({ to }) => to)),
  )
  return { lengthMs, rows }
}

interface Scale {
  readonly originMs: number
  /** Now, or the end of the run: nothing goes on behind it. */
  readonly nowMs: number
}

function rowsOf(step: TimedStep, scale: Scale): WaterfallRow[] {
  const attempts = step.type === 'map' ? [] : step.attempts.map((attempt) => portionsOfAttempt(attempt, scale))
  const own = attempts.length > 0 ? attempts.flat() : portionsOfStep(step, scale)
  if (own.length === 0) return []
  const row = { id: step.step, step: step.step, attempt: null, status: step.status, portions: own }
  if (attempts.length < 2) return [row]
  const below = step.attempts.map(({ attempt, status }, index) => ({
    ...{ id: `${step.step}#${attempt}`, step: step.step, attempt, status, portions: attempts[index]! },
  }))
  return [row, ...below]
}

function portionsOfAttempt(attempt: TimedAttempt, scale: Scale): Portion[] {
  const { status } = attempt
  const end = attempt.startedAt ?? attempt.endedAt
  const queued = attempt.queuedAt ?? attempt.startedAt
  const delayedUntil = earlier(attempt.delayedUntil, end)
  return [
    ...portion('delayed', status, delayedUntil === null ? null : queued, delayedUntil, scale),
    ...portion('waiting', status, later(queued, delayedUntil), end, scale),
    ...portion('running', status, attempt.startedAt, attempt.endedAt, scale),
  ]
}

function portionsOfStep(step: TimedStep, scale: Scale): Portion[] {
  const { type, status, readyAt, startedAt, endedAt } = step
  return [
    ...portion('waiting', status, type === 'map' ? readyAt : null, startedAt ?? endedAt, scale),
    ...portion(type === 'wait' ? 'open' : 'running', status, startedAt, endedAt, scale),
  ]
}

/** Nothing where it has not begun, and where it takes no time; without an end it goes on to now. */
function portion(
  kind: PortionKind,
  status: StatusName,
  fromIso: string | null,
  toIso: string | null,
  scale: Scale,
): Portion[] {
  if (fromIso === null) return []
  const from = Math.max(0, Date.parse(fromIso) - scale.originMs)
  const now = scale.nowMs - scale.originMs
  const to = toIso === null ? now : Math.min(Date.parse(toIso) - scale.originMs, Math.max(now, from))
  if (to < from || (to === from && kind !== 'running')) return []
  return [{ kind, status, from, to, isOpen: toIso === null || Date.parse(toIso) - scale.originMs > now }]
}

function earlier(a: string | null, b: string | null): string | null {
  return a === null || b === null ? a : Date.parse(a) < Date.parse(b) ? a : b
}

function later(a: string | null, b: string | null): string | null {
  return a === null || b === null ? a : Date.parse(a) > Date.parse(b) ? a : b
}
