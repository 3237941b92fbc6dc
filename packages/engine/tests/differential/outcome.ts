import type { Json } from '@starflow/dsl'
import { expect } from 'vitest'

/** What a run came to, in words that both machines have. */
export interface Outcome {
  readonly status: 'completed' | 'failed' | 'refused' | 'stuck'
  readonly output: Json
  /** Why it was refused. */
  readonly refusal?: string
  readonly steps: Readonly<Record<string, StepOutcome>>
  /** Per task that was started, by `slug[index]`. */
  readonly attempts: Readonly<Record<string, number>>
  /** What happened, in its order: attempts with the moment of each, and what became of waits. */
  readonly trace: readonly string[]
}

export interface StepOutcome {
  readonly status: string
  readonly skipReason: string | null
  readonly output: Json
  /** Of a step that failed, or was skipped because its handler did. */
  readonly error: string | null
}

export const TIMED_OUT = 'timed out'

/** The record of a run as it goes on. Moments count from the last time that nothing could happen by itself. */
export class Trace {
  readonly lines: string[] = []
  readonly #now: () => number
  #epoch = 0

  /** `now`: in seconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  begin(): void {
    this.#epoch = this.#now()
  }

  attempt(stepSlug: string, taskIndex: number, attempt: number): void {
    const at = Math.round(this.#now() - this.#epoch)
    this.lines.push(`${at} s: ${stepSlug}[${taskIndex}] attempt ${attempt}`)
  }

  /** Somebody acts from outside, so that time counts anew. */
  intervention(what: string): void {
    this.lines.push(what)
    this.begin()
  }
}

/**
 * What no race decides of a run: how it ended, and every step that has ended in it. Where a run has failed, other steps may have
 * come further in one machine than in the other, or not; and which element of a map fails first is a race.
 */
export function expectNoContradiction(one: Outcome, other: Outcome): void {
  expect(one.status).toBe(other.status)
  expect(one.refusal).toBe(other.refusal)
  expect(one.output).toEqual(other.output)
  for (const [slug, step] of Object.entries(one.steps)) {
    const same = other.steps[slug]!
    if (isOpen(step) || isOpen(same)) {
      expect(one.status, `${slug} is open`).toBe('failed')
      continue
    }
    const isRace = step.skipReason === 'handler_failed' || step.status === 'failed'
    expect(isRace ? { ...step, error: null } : step).toEqual(isRace ? { ...same, error: null } : same)
    if (!isRace) expect(attemptsOf(one, slug)).toEqual(attemptsOf(other, slug))
  }
}

const isOpen = ({ status }: StepOutcome) => status === 'created' || status === 'started'

const attemptsOf = ({ attempts }: Outcome, slug: string) =>
  Object.fromEntries(Object.entries(attempts).filter(([task]) => task.startsWith(`${slug}[`)))
