import type { ReservedSql, Sql, TransactionSql } from 'postgres'

/** A client of one connection, which one transaction or reservation has for itself. */
export interface HandlersSession {
  readonly sql: Sql
  /** Rejects as soon as the connection is lost. */
  readonly lost: Promise<never>
  /** Why nothing more is sent on it. */
  readonly loss: () => unknown
}

type Callable = (...args: unknown[]) => unknown
type TransactionWork<T> = (tx: TransactionSql) => T | Promise<T>

/**
 * What `sql.begin` does, on a connection that is watched: once it is lost nothing is sent any more, and the call rejects, while the
 * work may still go on. The driver itself would send its rollback all the same, which ends the process or goes to whatever has the
 * connection by then.
 *
 * @returns the result, and whether the session can be used again
 */
export async function inHandlersTransaction<T>(
  session: HandlersSession,
  work: TransactionWork<T>,
  options: string,
): Promise<T> {
  const held = new HeldSession(session)
  const run = async () => {
    await held.send(session.sql.unsafe(`begin ${options.replace(/[^a-z ]/gi, '')}`))
    return await held.complete(work, 'commit', 'rollback')
  }
  try {
    return await Promise.race([run(), session.lost])
  } finally {
    held.end(new Error('The transaction is over.'))
  }
}

/** The connection of a session, until it is released. */
export function reservedSession(session: HandlersSession, release: () => void): ReservedSql {
  const held = new HeldSession(session)
  return held.sql({
    release: () => {
      held.end(new Error('The connection was released.'))
      release()
    },
  }) as unknown as ReservedSql
}

class HeldSession {
  readonly #session: HandlersSession
  #over: unknown
  /** As in the driver: a transaction fails with the first of its statements that does. */
  #failure: { readonly error: unknown } | undefined
  #savepoints = 0

  constructor(session: HandlersSession) {
    this.#session = session
  }

  end(reason: unknown): void {
    this.#over ??= reason
  }

  /** Does the work, then says how it ended. */
  async complete<T>(work: TransactionWork<T>, success: string, failure: string): Promise<T> {
    this.#failure = undefined
    try {
      const done = work(this.sql({ savepoint: (...args) => this.#savepoint(args) }) as unknown as TransactionSql)
      const result = (await (Array.isArray(done) ? Promise.all(done) : done)) as T
      if (this.#failure !== undefined) throw (this.#failure as { readonly error: unknown }).error
      await this.send(this.#session.sql.unsafe(success))
      return result
    } catch (error) {
      // What failed is the statement before the one that says that the transaction is aborted.
      const first = isAborted(error) ? (this.#failure as { readonly error: unknown } | undefined) : undefined
      await this.send(this.#session.sql.unsafe(failure))
      this.#failure = undefined
      throw first === undefined ? error : first.error
    }
  }

  /** The client, with what it has no use for here left out. */
  sql(own: Readonly<Record<string, Callable>>): Sql {
    const client = this.#session.sql
    const watched =
      (make: Callable): Callable =>
      (...args) =>
        this.#guarded(make(...args))
    const members: Readonly<Record<string, Callable | undefined>> = {
      ...{
        begin: undefined,
        reserve: undefined,
        listen: undefined,
        subscribe: undefined,
        end: undefined,
        close: undefined,
      },
      unsafe: watched(client.unsafe as Callable),
      file: watched(client.file as Callable),
      ...own,
    }
    const call = watched(client as unknown as Callable)
    return new Proxy(() => {}, {
      apply: (_, __, args) => call(...args),
      get: (_, key) =>
        typeof key === 'string' && Object.hasOwn(members, key) ? members[key] : Reflect.get(client, key),
    }) as unknown as Sql
  }

  async send(query: PromiseLike<unknown>): Promise<void> {
    this.#refuse()
    await query
  }

  #refuse(): void {
    const reason = this.#session.loss() ?? this.#over
    if (reason !== undefined) throw reason
  }

  /** A query is sent when it is first awaited; then it is looked whether it still may be. */
  #guarded(made: unknown): unknown {
    const query = made as Promise<unknown> & { execute: () => unknown }
    if (typeof query?.then !== 'function') return made
    const then = query.then as Callable
    let isSent = false
    const guardedThen: Promise<unknown>['then'] = (onAnswer, onError) => {
      try {
        if (!isSent) this.#refuse()
      } catch (reason) {
        return Promise.reject(reason).then(onAnswer, onError)
      }
      if (!isSent) {
        isSent = true
        void then.call(query, undefined, (error: unknown) => {
          this.#failure ??= { error }
        })
      }
      return then.call(query, onAnswer, onError) as never
    }
    return Object.assign(query, {
      // biome-ignore lint/suspicious/noThenProperty: it is one already; the driver's other ways send without asking it.
      then: guardedThen,
      catch: (onError: (error: unknown) => unknown) => guardedThen(undefined, onError),
      finally: (done: () => void) => Promise.resolve(guardedThen((answer) => answer)).finally(done),
      execute: () => {
        guardedThen(undefined, () => {})
        return query
      },
    })
  }

  async #savepoint(args: unknown[]): Promise<unknown> {
    const [name, work] = args.length === 2 ? (args as [string, TransactionWork<unknown>]) : ['', args[0]]
    const point = `"s${this.#savepoints++}_${String(name).replaceAll('"', '""')}"`
    await this.send(this.#session.sql.unsafe(`savepoint ${point}`))
    return await this.complete(work as TransactionWork<unknown>, `release ${point}`, `rollback to ${point}`)
  }
}

const isAborted = (error: unknown) => (error as { code?: unknown } | null)?.code === '25P02'
