import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, isConnectionLoss } from '@starflow/core'
import {
  endFenceHold,
  type FencedFunction,
  type FenceHold,
  findFunctions,
  holdFence,
  keepFenceHold,
  type LivingHold,
  livingHolds,
} from '@starflow/core/operations'
import { StarflowError } from '@starflow/errors'
import { answerWithin } from '../database/answer-within.ts'
import { connect } from '../database/open-database.ts'

/**
 * A rollout or deploy holds its fence by a row that runs out by the database's clock, and prolongs it. Not by a lock: a lost
 * connection lets go of that at once, while what is being deployed goes on.
 *
 * So a lost connection costs nothing as long as another one comes in time. Where none does, the work is ended before the hold
 * is over: `unconfirmedMs` after the last time that the database was asked with success, and a deploy command is gone 5 s
 * later (guarded-command.mjs), or 6 s later where its guard does not do it (run-command.ts). The same happens when the process
 * is killed, and when it is stopped (Ctrl-Z): the guard is told at each confirmation how long the command may still run. Nobody
 * else begins before.
 */
export interface HoldTimes {
  readonly holdMs: number
  readonly keepEveryMs: number
  /** Taking the fence, too, is given up when the database has not answered for so long. */
  readonly unconfirmedMs: number
  /** After this the connection counts as lost. */
  readonly answerWithinMs: number
  /** How long lifting the fence is tried over lost connections: a restart of Postgres takes less. */
  readonly liftWithinMs: number
}

const HOLD_TIMES: HoldTimes = {
  holdMs: 30_000,
  keepEveryMs: 5_000,
  unconfirmedMs: 20_000,
  answerWithinMs: 5_000,
  liftWithinMs: 30_000,
}
/** How often it is looked whether another one is still at work. */
const LOOK_EVERY_MS = 500
/** Between two tries to lift the fence. */
const LIFT_AGAIN_MS = 500

/** How long the work of a hold may go on, for whoever ends it where this process cannot. */
export interface Confirmations {
  /** Tells the ms that are left: at once, and whenever the database has confirmed the hold. Returns what ends that. */
  listen(tell: (leftMs: number) => void): () => void
}

/** The wish to end came before the fence was taken. Whoever was waited for has left one that stands. */
export class NeverBegun extends Error {
  constructor(waitedFor: readonly string[]) {
    const left = waitedFor.length === 0 ? '' : `; the fence of ${waitedFor.join(', ')} still stands`
    super(`Interrupted before it began${left}.`)
    this.name = 'NeverBegun'
  }
}

export interface HeldWork {
  readonly url: string
  readonly hold: FenceHold
  readonly signal: AbortSignal
  readonly times?: HoldTimes
  /** Another one has been at work a moment ago: it is looked whether it still is. */
  readonly onWaiting: (holds: readonly LivingHold[]) => void
  readonly onFenced: (functions: readonly FencedFunction[]) => void
}

/**
 * Does `work` while worker functions are fenced and held, and lifts the fence whether it succeeds or fails. Settles only when
 * `work` has; the signal that it gets is aborted by the given one, and when the hold is lost.
 *
 * @returns what was restored
 * @throws StarflowError SF632 another one is at work, SF421 a fence of somebody else, SF422, SF637 the hold could not be taken, was
 * lost or could not be ended; NeverBegun; and what `work` throws
 */
export async function whileHeld(
  { url, hold, signal, times = HOLD_TIMES, onWaiting, onFenced }: HeldWork,
  work: (signal: AbortSignal, confirmations: Confirmations) => Promise<void>,
): Promise<readonly FencedFunction[]> {
  const connection = new ReplacedConnection(url, hold.heldBy)
  try {
    const { functions, askedAt } = await take(connection, hold, { times, signal, onWaiting })
    onFenced(functions)
    const keeper = new HoldKeeper(connection, hold, times, askedAt)
    let failure: { readonly error: unknown } | undefined
    try {
      await work(AbortSignal.any([signal, keeper.lost]), keeper)
    } catch (error) {
      failure = { error }
    }
    await keeper.stop()
    const restored = await lift(connection, hold, times, (cause) => notLifted(hold, cause, failure?.error))
    if (keeper.lost.aborted) throw keeper.lost.reason
    if (failure !== undefined) throw failure.error
    if (restored.length < hold.functionNames.length) throw takenAway(hold)
    return restored
  } finally {
    await connection.end()
  }
}

/**
 * Takes the fence, over lost connections too: asked again under the same id it is the same hold. One that was killed is over by
 * itself; one that is at work prolongs its hold, and is refused for.
 */
async function take(
  connection: ReplacedConnection,
  hold: FenceHold,
  { times, signal, onWaiting }: Pick<HeldWork, 'signal' | 'onWaiting'> & { readonly times: HoldTimes },
): Promise<{ readonly functions: readonly FencedFunction[]; readonly askedAt: number }> {
  let seen: ReadonlyMap<string, LivingHold> | undefined
  let answeredAt = performance.now()
  let mayHold = false
  const leave = async (reason: unknown, reasonIfLifted = reason): Promise<never> => {
    if (!mayHold) throw reason
    const lifted = await lift(connection, hold, { ...times, liftWithinMs: 0 }, (cause) => notKnown(hold, cause, reason))
    throw lifted.length > 0 ? reasonIfLifted : reason
  }
  for (;;) {
    const askedAt = performance.now()
    try {
      const answer = await askForFence(connection, hold, times)
      if ('functions' in answer) return { functions: answer.functions, askedAt }
      answeredAt = performance.now()
      if (seen === undefined && answer.living.length > 0) {
        seen = new Map(answer.living.map((each) => [each.holdId, each]))
        onWaiting(answer.living)
      }
      for (const { holdId, heldUntil } of answer.living) {
        if (heldUntil.getTime() > (seen?.get(holdId)?.heldUntil.getTime() ?? 0)) throw answer.refusal
      }
    } catch (error) {
      if (!isUnanswered(error)) return await leave(error)
      mayHold = true
      if (performance.now() - answeredAt >= times.unconfirmedMs) return await leave(notTaken(hold, times, error))
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})
    if (signal.aborted) {
      const waitedFor = [...(seen?.values() ?? [])].map((each) => each.heldBy)
      return await leave(new NeverBegun(waitedFor), new NeverBegun([]))
    }
  }
}

/** The fence, or the refusal and those who are at work. */
async function askForFence(
  connection: ReplacedConnection,
  hold: FenceHold,
  { holdMs, answerWithinMs }: HoldTimes,
): Promise<
  | { readonly functions: readonly FencedFunction[] }
  | { readonly refusal: unknown; readonly living: readonly LivingHold[] }
> {
  try {
    // Postgres, too, gives up what nobody waits for any longer: it must raise no fence when this has been left.
    const functions = await connection.ask(
      (sql) =>
        sql.begin(async (transaction) => {
          await transaction`select set_config('statement_timeout', ${String(answerWithinMs)}, true)`
          return await holdFence(transaction, hold, holdMs)
        }),
      answerWithinMs,
    )
    return { functions }
  } catch (refusal) {
    if ((refusal as { code?: unknown }).code !== 'SF632') throw refusal
    return { refusal, living: await connection.ask((sql) => livingHolds(sql, hold.functionNames), answerWithinMs) }
  }
}

/** Lifts the fence of what is still held, over lost connections too. */
async function lift(
  connection: ReplacedConnection,
  hold: FenceHold,
  times: HoldTimes,
  failed: (cause: unknown) => StarflowError,
): Promise<readonly FencedFunction[]> {
  const deadline = performance.now() + times.liftWithinMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await connection.ask(async (sql) => {
        const restored = await endFenceHold(sql, hold.holdId)
        if (restored.length > 0 || attempt === 1) return restored
        // An attempt whose answer was lost may have lifted it.
        const functions = await findFunctions(sql, hold.functionNames)
        return functions.every((each) => each.fencedBy === null) ? functions : restored
      }, times.answerWithinMs)
    } catch (error) {
      if (performance.now() >= deadline) throw failed(error)
      await sleep(LIFT_AGAIN_MS)
    }
  }
}

/** Prolongs a hold until it is stopped, and tells when it is lost. */
class HoldKeeper implements Confirmations {
  readonly #connection: ReplacedConnection
  readonly #hold: FenceHold
  readonly #times: HoldTimes
  readonly #lost = new AbortController()
  readonly #stopped = new AbortController()
  readonly #keeping: Promise<void>
  readonly #listeners = new Set<(leftMs: number) => void>()
  #confirmedAt = 0
  #expiry: NodeJS.Timeout | undefined
  #lastError: unknown

  constructor(connection: ReplacedConnection, hold: FenceHold, times: HoldTimes, confirmedAt: number) {
    this.#connection = connection
    this.#hold = hold
    this.#times = times
    this.#confirmed(confirmedAt)
    this.#keeping = this.#keep()
  }

  /** Aborted when the work has to end; the reason is the error to end with. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  listen(tell: (leftMs: number) => void): () => void {
    this.#listeners.add(tell)
    tell(this.#leftMs())
    return () => this.#listeners.delete(tell)
  }

  async stop(): Promise<void> {
    clearTimeout(this.#expiry)
    this.#stopped.abort()
    await this.#keeping
  }

  async #keep(): Promise<void> {
    const { keepEveryMs, answerWithinMs, holdMs } = this.#times
    while (!this.#stopped.signal.aborted && !this.#lost.signal.aborted) {
      await sleep(keepEveryMs, undefined, { signal: this.#stopped.signal }).catch(() => {})
      if (this.#stopped.signal.aborted) return
      // Counted from before the question: the database has counted from later.
      const askedAt = performance.now()
      try {
        const kept = await this.#connection.ask((sql) => keepFenceHold(sql, this.#hold.holdId, holdMs), answerWithinMs)
        if (kept === this.#hold.functionNames.length) this.#confirmed(askedAt)
        else this.#lost.abort(takenAway(this.#hold))
      } catch (error) {
        this.#lastError = error
      }
    }
  }

  #confirmed(at: number): void {
    clearTimeout(this.#expiry)
    this.#confirmedAt = at
    const left = this.#leftMs()
    this.#expiry = setTimeout(() => this.#lost.abort(unconfirmed(this.#hold, this.#times, this.#lastError)), left)
    for (const tell of this.#listeners) tell(left)
  }

  #leftMs(): number {
    return Math.max(0, this.#confirmedAt + this.#times.unconfirmedMs - performance.now())
  }
}

/** A connection that is replaced once it is lost or hangs, as on a network that went away without a word. */
class ReplacedConnection {
  readonly url: string
  readonly #applicationName: string
  #sql: Database

  constructor(url: string, applicationName: string) {
    this.url = url
    this.#applicationName = applicationName.slice(0, 63)
    this.#sql = this.#open()
  }

  async ask<T>(question: (sql: Database) => Promise<T>, withinMs: number): Promise<T> {
    const asked = this.#sql
    try {
      return await answerWithin(withinMs, question(asked))
    } catch (error) {
      if (isUnanswered(error)) {
        this.#sql = this.#open()
        void asked.end({ timeout: 0 })
      }
      throw error
    }
  }

  async end(): Promise<void> {
    await this.#sql.end({ timeout: 1 })
  }

  #open(): Database {
    return connect(this.url, this.#applicationName, { connections: 1 })
  }
}

/** No answer, or one of Postgres that it took too long: what was asked for may be done or not. */
function isUnanswered(error: unknown): boolean {
  return isConnectionLoss(error) || (error as { code?: unknown }).code === '57014'
}

function takenAway({ heldBy, functionNames }: FenceHold): StarflowError {
  return new StarflowError({
    code: 'SF637',
    message: `The fence of "${heldBy}" was taken from it.`,
    detail:
      'Somebody has lifted it by force, or it was not heard of for so long that another one has begun. It was ended.',
    hint: 'See who is at work: npx starflow functions list. Then run this again: what was deployed may be of both.',
    fields: { heldBy, functionNames },
  })
}

function unconfirmed({ heldBy, functionNames }: FenceHold, times: HoldTimes, cause: unknown): StarflowError {
  return new StarflowError({
    code: 'SF637',
    message: `"${heldBy}" was ended: it could not tell the database for ${times.unconfirmedMs / 1000} s that it is at work.`,
    detail: `${reasonOf(cause)} Later than that another one may begin.`,
    hint: 'Run this again once the database can be reached. What was deployed until then is deployed.',
    fields: { heldBy, functionNames },
    cause,
  })
}

/** Asked to lift it, the database has answered: so it can be reached, and something in it was in the way. */
function notTaken({ heldBy, functionNames }: FenceHold, times: HoldTimes, cause: unknown): StarflowError {
  return new StarflowError({
    code: 'SF637',
    message: `"${heldBy}" could not take its fence within ${times.unconfirmedMs / 1000} s and has not begun: ${functionNames.join(', ')}.`,
    detail: `${reasonOf(cause)} Most likely an open transaction holds rows of pgflow.worker_functions.`,
    hint: 'See who it is: select pid, application_name, query from pg_stat_activity where xact_start is not null. Then run this again.',
    fields: { heldBy, functionNames },
    cause,
  })
}

function notKnown({ heldBy, functionNames }: FenceHold, cause: unknown, reason: unknown): StarflowError {
  return new StarflowError({
    code: 'SF637',
    message: `"${heldBy}" could not begin, and its fence may stand: ${functionNames.join(', ')}.`,
    detail: `${reasonOf(cause)} Before that: ${reasonOf(reason)}`,
    hint: 'Run this again once the database can be reached: it goes on, and restores what the first one found.',
    fields: { heldBy, functionNames },
    cause,
  })
}

function notLifted({ heldBy, functionNames }: FenceHold, cause: unknown, workError: unknown): StarflowError {
  const before = workError === undefined ? 'Everything else was done.' : `Before that: ${reasonOf(workError)}`
  return new StarflowError({
    code: 'SF637',
    message: `"${heldBy}" could not lift its fence: ${functionNames.join(', ')} stay fenced.`,
    detail: `${reasonOf(cause)} ${before}`,
    hint: 'Run this again once the database can be reached: it goes on, and restores what the first one found.',
    fields: { heldBy, functionNames },
    cause,
  })
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'It did not answer.'
}
