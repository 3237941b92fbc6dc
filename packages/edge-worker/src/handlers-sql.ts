import { type ArrayType, isConnectionLoss } from '@starflow/core'
import { StarflowError } from '@starflow/errors'
import type postgres from 'postgres'
import type { ReservedSql, Sql, TransactionSql } from 'postgres'
import { type HandlersSession, inHandlersTransaction, reservedSession } from './handlers-session.ts'
import { HANDLERS_IDLE_MS, HANDLERS_LAST_CALLS_MS, HANDLERS_LOST_MS } from './numbers.ts'
import { markPlatformFailure } from './platform-failure.ts'
import { WorkerShutdownError } from './worker-shutdown-error.ts'

/** `ctx.sql` of one attempt, until it is given back. */
export interface LentSql {
  /** Opens nothing before a query is sent. */
  readonly sql: Sql
  /** Gives back what the attempt has kept: reserved connections and listeners. */
  giveBack(): void
}

/** What the attempts of a worker get as `ctx.sql`. */
export interface HandlersSql {
  /** @param signal the attempt's; aborted while queries of it are pending, it says that a connection may be dead */
  lend(signal: AbortSignal): LentSql
  /** From then on arrays of these types are lists. Before the first attempt. */
  readArrays(types: readonly ArrayType[]): void
  /** Ends what was opened here, waiting `timeoutMs` at most for queries under way. */
  close(timeoutMs: number): Promise<void>
}

/**
 * Clients of postgres.js for handlers, one at a time. Nothing is opened before a handler uses it, and nothing is kept when none has
 * for a while.
 *
 * A client is replaced when a connection of it is lost: the driver may not come back from a reset. It is replaced, too, when an
 * attempt runs into its timeout with queries pending: their connection may have fallen silent. What other attempts have under way on
 * the old client they may finish. A transaction or reservation has a client of one connection to itself, so that the loss of that
 * connection is known for what it is; the attempt's timeout ends it.
 */
export class ReplacedHandlersSql implements HandlersSql {
  readonly #open: (options: ClientOptions) => Sql
  readonly #max: number
  /** Those that nothing uses. */
  readonly #sessions: Session[] = []
  /** All of them, in use or not. */
  readonly #openSessions = new Set<Session>()
  readonly #waiting: (() => void)[] = []
  #types: Types = {}
  #current: Client | undefined
  /** Those that are replaced and not yet ended. */
  readonly #old = new Set<Client>()
  #lent = 0
  #isClosed = false
  #idleTimer: ReturnType<typeof setTimeout> | undefined

  /**
   * @param max how many connections queries share, and how many transactions and reservations may have one each
   * @param open makes a client with these options besides its own; it opens no connection yet
   */
  constructor(max: number, open: (options: ClientOptions) => Sql) {
    this.#max = max
    this.#open = open
  }

  readArrays(types: readonly ArrayType[]): void {
    this.#types = Object.fromEntries(
      types.map(({ id, parse, serialize }) => [`array_${id}`, { to: id, from: [id], parse, serialize }]),
    )
  }

  lend(signal: AbortSignal): LentSql {
    return onFirstUse(() => this.#lend(signal))
  }

  #lend(signal: AbortSignal): LentSql {
    clearTimeout(this.#idleTimer)
    this.#lent++
    const used = new Set<Client>()
    const loan = new Loan(
      () => {
        const client = this.#use()
        used.add(client)
        client.users.add(loan)
        return client.sql
      },
      {
        take: () => this.#takeSession(),
        give: (session, isUsable) => this.#giveSession(session, isUsable),
      },
      () => {
        for (const client of used) this.#replace(client)
      },
    )
    const leave = () => {
      for (const client of used) {
        client.users.delete(loan)
        this.#endUnused(client)
      }
    }
    const onAbort = () => {
      // A handler has a grace to end in; what it leaves open is ended when it is given back, or with the worker.
      if (signal.reason instanceof WorkerShutdownError) return
      if (loan.isWaiting) for (const client of used) this.#replace(client)
      // It waited for a connection that others have: what it had the time for is not known.
      if (loan.isStarved) markPlatformFailure(signal.reason)
      loan.end()
      leave()
    }
    signal.addEventListener('abort', onAbort, { once: true })
    let isBack = false
    return {
      sql: loan.sql,
      giveBack: () => {
        if (isBack) return
        isBack = true
        signal.removeEventListener('abort', onAbort)
        loan.end()
        leave()
        if (--this.#lent === 0) this.#idle()
      },
    }
  }

  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true
    for (const wake of this.#waiting.splice(0)) wake()
    clearTimeout(this.#idleTimer)
    const clients = [...this.#old, ...this.#openSessions, ...(this.#current === undefined ? [] : [this.#current])]
    this.#current = undefined
    const ended = Promise.allSettled(clients.map(({ sql }) => sql.end({ timeout: timeoutMs / 1000 })))
    // One that was replaced is being ended already, perhaps with more time.
    let timer: ReturnType<typeof setTimeout> | undefined
    const over = new Promise((resolve) => {
      timer = setTimeout(resolve, timeoutMs)
    })
    await Promise.race([ended, over]).finally(() => clearTimeout(timer))
  }

  #use(): Client {
    if (this.#current !== undefined) return this.#current
    if (this.#isClosed) throw connectionsEnded()
    const client: Client = {
      sql: this.#open({
        max: this.#max,
        types: this.#types,
        onclose: () => {
          this.#replace(client)
          // The driver does not end a connection that was lost under a query before this time is over.
          this.#end(client, client.users.size > 1 ? HANDLERS_LOST_MS : HANDLERS_LAST_CALLS_MS)
        },
      }),
      users: new Set(),
    }
    this.#current = client
    return client
  }

  #replace(client: Client): void {
    if (this.#current !== client) return
    this.#current = undefined
    this.#old.add(client)
  }

  #endUnused(client: Client): void {
    if (this.#old.has(client) && client.users.size === 0) this.#end(client, HANDLERS_LAST_CALLS_MS)
  }

  #end(client: Client, timeoutMs: number): void {
    void client.sql.end({ timeout: timeoutMs / 1000 }).finally(() => this.#old.delete(client))
  }

  async #takeSession(): Promise<Session> {
    for (;;) {
      if (this.#isClosed) throw connectionsEnded()
      const session = this.#sessions.pop()
      if (session !== undefined) return session
      if (this.#openSessions.size < this.#max) return this.#newSession()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #newSession(): Session {
    let lose: (reason: unknown) => void = () => {}
    let loss: unknown
    const lost = new Promise<never>((_, reject) => {
      lose = reject
    })
    lost.catch(() => {})
    const session: Session = {
      lost,
      loss: () => loss,
      sql: this.#open({
        max: 1,
        types: this.#types,
        // Also when it was ended here. From now on nothing is sent on it.
        onclose: () => {
          loss ??= Object.assign(new Error('The connection to the database was lost.'), { code: 'CONNECTION_CLOSED' })
          markPlatformFailure(loss)
          lose(loss)
          this.#dropSession(session)
        },
      }),
    }
    this.#openSessions.add(session)
    return session
  }

  #giveSession(session: Session, isUsable: boolean): void {
    if (isUsable && session.loss() === undefined) {
      this.#sessions.push(session)
      this.#waiting.shift()?.()
    } else this.#dropSession(session)
  }

  #dropSession(session: Session): void {
    if (!this.#openSessions.delete(session)) return
    const place = this.#sessions.indexOf(session)
    if (place !== -1) this.#sessions.splice(place, 1)
    void session.sql.end({ timeout: 0 })
    this.#waiting.shift()?.()
  }

  #idle(): void {
    this.#idleTimer = setTimeout(() => {
      for (const session of [...this.#sessions]) this.#dropSession(session)
      const client = this.#current
      if (client === undefined) return
      this.#replace(client)
      this.#endUnused(client)
    }, HANDLERS_IDLE_MS)
  }
}

/** A client that the caller of `EdgeWorker.start` gave: theirs to watch and to end. */
export class GivenHandlersSql implements HandlersSql {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  readArrays(): void {}

  lend(): LentSql {
    return onFirstUse(() => {
      const loan = new Loan(() => this.#sql, undefined)
      return { sql: loan.sql, giveBack: () => loan.end() }
    })
  }

  async close(): Promise<void> {}
}

/** Stands in where handlers have no connection: using it says why. */
export class RefusedHandlersSql implements HandlersSql {
  readArrays(): void {}

  lend(): LentSql {
    const refuse = (): never => {
      throw new StarflowError({
        code: 'SF406',
        message: 'ctx.sql has no connection: maxPgConnections is 1, and the worker keeps one for itself.',
        detail: 'Claims and heartbeats must not wait for handlers.',
        hint: 'Set maxPgConnections to 2 or more.',
      })
    }
    return { sql: new Proxy(refuse, { apply: refuse, get: refuse }) as unknown as Sql, giveBack: () => {} }
  }

  async close(): Promise<void> {}
}

/** Most handlers use no `ctx.sql`: they cost nothing. */
function onFirstUse(lend: () => LentSql): LentSql {
  let lent: LentSql | undefined
  return {
    get sql() {
      lent ??= lend()
      return lent.sql
    },
    giveBack: () => lent?.giveBack(),
  }
}

function connectionsEnded(): Error {
  return Object.assign(new Error('The connections of this attempt were closed.'), { code: 'CONNECTION_ENDED' })
}

type Types = Record<string, postgres.PostgresType>
type ClientOptions = Pick<postgres.Options<Types>, 'max' | 'onclose' | 'types'>
type Session = HandlersSession

/** Where connections come from that one attempt has for itself. */
interface Sessions {
  take(): Promise<Session>
  give(session: Session, isUsable: boolean): void
}

interface Client {
  readonly sql: Sql
  /** Attempts that have sent something on it. */
  readonly users: Set<Loan>
}

type Callable = (...args: unknown[]) => unknown

/** Whether a connection was lost, or not to be had; the error is the platform's then, wherever the handler lets it go. */
function noteLoss(error: unknown): boolean {
  const isLoss = isConnectionLoss(error)
  if (isLoss) markPlatformFailure(error)
  return isLoss
}

/** One attempt's view of the client of the moment. Ending it ends nothing. */
class Loan {
  readonly sql: Sql
  readonly #client: () => Sql
  readonly #kept = new Set<() => void>()
  readonly #sessions: Sessions | undefined
  readonly #lost: () => void
  #pending = 0
  #starving = 0
  #isOver = false

  /** @param lost called when a query fails since its connection is lost, before anything else is sent */
  constructor(client: () => Sql, sessions: Sessions | undefined, lost: () => void = () => {}) {
    this.#client = client
    this.#sessions = sessions
    this.#lost = lost
    const noEnd = async () => {}
    const own: Readonly<Record<string, Callable>> = {
      ...{ end: noEnd, close: noEnd, END: noEnd, CLOSE: noEnd },
      unsafe: (...args) => this.#watched((client().unsafe as Callable)(...args)),
      file: (...args) => this.#watched((client().file as Callable)(...args)),
      begin: (...args) => this.#begin(args),
      notify: (...args) => this.#counted((client().notify as Callable)(...args) as Promise<unknown>),
      reserve: () => this.#reserve(),
      listen: (...args) => this.#listen(args),
    }
    this.sql = new Proxy(() => {}, {
      apply: (_, __, args) => this.#watched((client() as unknown as Callable)(...args)),
      get: (_, key) => (typeof key === 'string' && Object.hasOwn(own, key) ? own[key] : Reflect.get(client(), key)),
      has: (_, key) => Reflect.has(client(), key),
    }) as unknown as Sql
  }

  /** Queries that are not answered, or connections that are held. */
  get isWaiting(): boolean {
    return this.#pending > 0 || this.#kept.size > 0
  }

  /** It waits for a connection for itself, and others have all of them. One that holds some starves itself. */
  get isStarved(): boolean {
    return this.#starving > 0 && this.#kept.size === 0
  }

  end(): void {
    this.#isOver = true
    for (const giveBack of [...this.#kept]) giveBack()
    this.#kept.clear()
  }

  /** A query is sent when it is first awaited; a fragment of another one never is. */
  #watched(made: unknown): unknown {
    const query = made as Promise<unknown>
    if (typeof query?.then !== 'function') return made
    const { then } = query
    let isCounted = false
    // biome-ignore lint/suspicious/noThenProperty: it is one already.
    query.then = (onAnswer, onError) => {
      if (!isCounted) {
        isCounted = true
        this.#pending++
        const answered = () => {
          this.#pending--
        }
        void then.call(query, answered, (error: unknown) => {
          answered()
          if (noteLoss(error)) this.#lost()
        })
      }
      return then.call(query, onAnswer, onError) as never
    }
    return query
  }

  async #counted<T>(call: Promise<T>): Promise<T> {
    this.#pending++
    try {
      return await call
    } catch (error) {
      noteLoss(error)
      throw error
    } finally {
      this.#pending--
    }
  }

  async #begin(args: unknown[]): Promise<unknown> {
    const sessions = this.#sessions
    if (sessions === undefined)
      return await this.#counted((this.#client().begin as Callable)(...args) as Promise<unknown>)
    const [options, work] = args.length === 2 ? args : ['', args[0]]
    const session = await this.#takeSession(sessions)
    let isOver = false
    const giveBack = () => {
      if (this.#kept.delete(giveBack)) sessions.give(session, isOver)
    }
    this.#kept.add(giveBack)
    try {
      return await inHandlersTransaction(session, work as (tx: TransactionSql) => unknown, String(options))
    } catch (error) {
      noteLoss(error)
      throw error
    } finally {
      // Committed or rolled back; a lost connection tells so by itself.
      isOver = true
      giveBack()
    }
  }

  /** The attempt may end while it waits: then nothing is begun for it. */
  async #takeSession(sessions: Sessions): Promise<Session> {
    this.#starving++
    const session = await sessions.take().finally(() => this.#starving--)
    if (!this.#isOver) return session
    sessions.give(session, true)
    throw connectionsEnded()
  }

  async #reserve(): Promise<ReservedSql> {
    if (this.#sessions !== undefined) return await this.#reserveSession(this.#sessions)
    const reserved = await this.#counted(this.#client().reserve())
    const { release } = reserved
    let isHeld = true
    const giveBack = () => {
      this.#kept.delete(giveBack)
      if (isHeld) release()
      isHeld = false
    }
    this.#kept.add(giveBack)
    return Object.assign(reserved, { release: giveBack })
  }

  async #reserveSession(sessions: Sessions): Promise<ReservedSql> {
    const session = await this.#takeSession(sessions)
    let isReleased = false
    const giveBack = () => {
      // Left behind in whatever state, it is of no use to others.
      if (this.#kept.delete(giveBack)) sessions.give(session, isReleased)
    }
    this.#kept.add(giveBack)
    return reservedSession(session, () => {
      isReleased = true
      giveBack()
    })
  }

  async #listen(args: unknown[]): Promise<unknown> {
    const listening = (await this.#counted((this.#client().listen as Callable)(...args) as Promise<unknown>)) as {
      unlisten: () => Promise<void>
    }
    const { unlisten } = listening
    const giveBack = () => void unlisten().catch(() => {})
    this.#kept.add(giveBack)
    return {
      ...listening,
      unlisten: () => {
        this.#kept.delete(giveBack)
        return unlisten()
      },
    }
  }
}
