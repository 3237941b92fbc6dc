import { setTimeout as afterAWhile, setImmediate as afterThisTurn } from 'node:timers'
import type Database from 'libsql'
import { BUSY_TIMEOUT_MS, closeStateFile, type Durability, isBusy, openStateFile, RETRY_MS } from './state-file.ts'
import { StateFileError, stateFileError } from './state-file-error.ts'

export type SqlValue = string | number | null
export type SqlParameters = Readonly<Record<string, SqlValue>>

/** What a read or write works with. Everything that it does is of one transaction, at one instant. */
export interface Transaction {
  /** The instant, by the clock of the store, in milliseconds since 1970. */
  readonly now: number
  first<TRow>(sql: string, parameters?: SqlParameters): TRow | undefined
  all<TRow>(sql: string, parameters?: SqlParameters): TRow[]
  /** Returns how many rows it has changed. */
  run(sql: string, parameters?: SqlParameters): number
  /** Wakes whoever waits for queued runs, when this transaction is durable. */
  wakeRunners(): void
}

interface PendingWrite {
  readonly work: (transaction: Transaction) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** By the clock of this process: when it is refused, should another process hold the file until then. */
  readonly refusedAt: number
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

// Taken once: a test that fakes timers must not stop the store.
const schedule = afterThisTurn
const scheduleLater = afterAWhile

/**
 * One connection to a state file. Writes that are asked for within one turn of the event loop share a commit, and with it the
 * one slow thing, the way to the disk; each is a savepoint of its own, so one that is refused undoes only itself.
 */
export class StateDatabase {
  readonly path: string
  readonly #database: Database.Database
  readonly #clock: () => number
  readonly #statements = new Map<string, Database.Statement>()
  readonly #wakers = new Set<() => void>()
  #pending: PendingWrite[] = []
  #isOpen = true
  #hasQueued = false

  constructor(path: string, durability: Durability, clock?: () => number) {
    this.path = path
    this.#database = openStateFile(path, durability)
    this.#clock = clock ?? (() => this.#first<{ now: number }>(SQLITE_CLOCK)!.now)
  }

  /** Resolves when what the work has done is durable. */
  write<TValue>(work: (transaction: Transaction) => TValue): Promise<TValue> {
    return new Promise<TValue>((resolve, reject) => {
      this.#pending.push({
        ...{ work, resolve: resolve as PendingWrite['resolve'], reject },
        refusedAt: performance.now() + BUSY_TIMEOUT_MS,
      })
      if (this.#pending.length === 1) schedule(() => this.#commitPending())
    })
  }

  async read<TValue>(work: (transaction: Transaction) => TValue): Promise<TValue> {
    const refusedAt = performance.now() + BUSY_TIMEOUT_MS
    for (;;) {
      this.#checkOpen()
      try {
        return work(this.#transaction())
      } catch (error) {
        if (!isBusy(error) || performance.now() >= refusedAt) throw stateFileError(this.path, error)
      }
      await new Promise<void>((resolve) => scheduleLater(resolve, RETRY_MS))
    }
  }

  /** Calls `wake` after each commit of this connection that has queued a run. Returns what ends it. */
  onQueued(wake: () => void): () => void {
    this.#wakers.add(wake)
    return () => this.#wakers.delete(wake)
  }

  /** Changes whenever another connection, of whatever process, has committed something. */
  dataVersion(): number {
    return this.#isOpen ? this.#first<{ data_version: number }>('pragma data_version')!.data_version : 0
  }

  /** What was asked for is written first. Twice is fine. */
  close(): void {
    if (!this.#isOpen) return
    this.#commitPending()
    this.#isOpen = false
    this.#wakers.clear()
    this.#statements.clear()
    closeStateFile(this.#database)
  }

  #commitPending(): void {
    const writes = this.#pending
    this.#pending = []
    if (writes.length === 0) return
    try {
      const outcomes = this.#commit(writes)
      for (const [index, { resolve, reject }] of writes.entries()) {
        const outcome = outcomes[index] as Outcome
        if ('error' in outcome) reject(stateFileError(this.path, outcome.error))
        else resolve(outcome.value)
      }
    } catch (error) {
      this.#putBackOrRefuse(writes, error)
    }
  }

  /** Another process is writing: what has waited for long enough is refused, the rest tried again, with whatever has come since. */
  #putBackOrRefuse(writes: readonly PendingWrite[], error: unknown): void {
    const now = performance.now()
    const mayWait = (write: PendingWrite) => this.#isOpen && isBusy(error) && write.refusedAt > now
    for (const write of writes.filter((each) => !mayWait(each))) write.reject(stateFileError(this.path, error))
    const waiting = writes.filter(mayWait)
    if (waiting.length === 0) return
    // With none pending, a new write would ask for a commit as well: one is enough.
    if (this.#pending.length === 0) scheduleLater(() => this.#commitPending(), RETRY_MS)
    this.#pending.unshift(...waiting)
  }

  #commit(writes: readonly PendingWrite[]): Outcome[] {
    this.#checkOpen()
    this.#hasQueued = false
    // Immediate: the right to write comes first, so no read in it can be out of date when it writes.
    this.#run('begin immediate')
    try {
      const transaction = this.#transaction()
      const outcomes = writes.map(({ work }) => this.#inSavepoint(() => work(transaction)))
      this.#run('commit')
      if (this.#hasQueued) for (const wake of this.#wakers) wake()
      return outcomes
    } catch (error) {
      if (this.#database.inTransaction) this.#run('rollback')
      throw error
    }
  }

  #inSavepoint(work: () => unknown): Outcome {
    this.#run('savepoint write')
    try {
      const value = work()
      this.#run('release write')
      return { value }
    } catch (error) {
      // SQLite gives up the whole transaction by itself where the disk is full, or fails; then all of its writes have failed.
      if (!this.#database.inTransaction) throw error
      this.#run('rollback to write')
      this.#run('release write')
      return { error }
    }
  }

  #transaction(): Transaction {
    return {
      now: this.#clock(),
      first: (sql, parameters) => this.#first(sql, parameters),
      all: <TRow>(sql: string, parameters: SqlParameters = {}) => this.#statement(sql).all(parameters) as TRow[],
      run: (sql, parameters) => this.#run(sql, parameters),
      wakeRunners: () => {
        this.#hasQueued = true
      },
    }
  }

  #first<TRow>(sql: string, parameters: SqlParameters = {}): TRow | undefined {
    return this.#statement(sql).get(parameters) as TRow | undefined
  }

  #run(sql: string, parameters: SqlParameters = {}): number {
    return this.#statement(sql).run(parameters).changes
  }

  #statement(sql: string): Database.Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #checkOpen(): void {
    if (this.#isOpen) return
    throw new StateFileError({
      path: this.path,
      reason: 'it was closed',
      detail: 'The adapter that this call went to has been closed.',
      hint: 'Close an adapter when nothing uses it any longer.',
    })
  }
}

const SQLITE_CLOCK = `select cast(round(unixepoch('now', 'subsec') * 1000) as integer) as now`
