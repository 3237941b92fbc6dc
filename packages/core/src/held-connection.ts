import type { ReservedSql, Sql, TransactionSql } from 'postgres'

/**
 * `sql.begin` for connections that may be lost: from then on the transaction's queries are refused, and the call rejects.
 *
 * Why: after a loss postgres.js goes on to send on that connection, its own `rollback` first of all. Either there is no
 * socket any more: that throws outside of every promise, and ends the process. Or there is a new one, and a transaction
 * that is long over writes into what now runs there. So nothing is sent after a loss, and the driver is not told how the
 * work ended, since it would then commit or roll back.
 *
 * As with `sql.begin`, the call rejects as soon as the loss is seen, while the work may still go on.
 */
export async function inTransaction<T>(
  client: Sql,
  work: (transaction: TransactionSql) => T | Promise<T>,
  options = '',
): Promise<T> {
  const connection = new HeldConnection()
  try {
    // The cast: postgres.js types the result of a transaction more narrowly than what passes through it.
    const result = (await client.begin(options, (transaction) =>
      connection.whileHeld(() => work(connection.guard(transaction))),
    )) as T
    connection.end(new Error('The transaction is over.'))
    return result
  } catch (error) {
    connection.end(error)
    throw error
  }
}

/** `sql.reserve` for connections that may be lost: its queries are refused from then on, and releasing it does nothing. */
export async function reserveConnection(client: Sql): Promise<ReservedSql> {
  const reserved = await client.reserve()
  const connection = new HeldConnection()
  // The driver shows the connection only to a query that asks for it, and tells nobody else that it was lost.
  await reserved.unsafe('select 1', [], {
    onexecute: (driverConnection: { onclose: (error: unknown) => void }) => {
      driverConnection.onclose = (error) => connection.end(error)
      return true
    },
  } as object)
  const release = () => {
    if (connection.isOver) return
    connection.end(new Error('The connection was released.'))
    reserved.release()
  }
  return new Proxy(connection.guard(reserved), {
    get: (target, key) => (key === 'release' ? release : Reflect.get(target, key)),
  })
}

/** Anything that is no answer of the server, and the answers with which it hangs up. */
export function isConnectionLoss(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  if (severity === 'FATAL' || severity === 'PANIC') return true
  return typeof code === 'string' && (/^(08|57P0[1-5])/.test(code) || isSocketError(code))
}

/** Of the driver's connection or of the system (ECONNRESET). The driver's complaints about calls have codes too. */
const isSocketError = (code: string) => /^(CONNECTION_|CONNECT_TIMEOUT|E[A-Z]+$|ERR_)/.test(code)

/** What the driver needs at most to notice that a connection is gone after a query of it was told so. */
const NOTICED_AFTER_MS = 1000

/** A connection that one transaction or reservation has for itself until it is over. */
class HeldConnection {
  /** Why queries are refused: a query was told of the loss, or the driver was. */
  #refusal: { readonly reason: unknown } | undefined
  /** Those who wait for the connection, to be told when it is over. */
  readonly #waiting = new Set<(reason: unknown) => void>()
  isOver = false

  /** The driver is done with it. The first reason counts. */
  end(reason: unknown): void {
    this.isOver = true
    this.#refusal ??= { reason }
    for (const tell of this.#waiting) tell(this.#refusal.reason)
    this.#waiting.clear()
  }

  /** Does the work, and tells its end to the driver only while the connection is held. */
  whileHeld<T>(work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      settled(work).then(
        (value) => {
          if (!this.isOver) resolve(value)
        },
        async (error: unknown) => {
          if (this.#refusal !== undefined) await this.#noticed()
          // If the connection is still there, the driver has to roll back.
          if (!this.isOver) reject(error)
        },
      )
    })
  }

  /** The same connection, whose queries are refused once it is lost. */
  guard<TSql extends TransactionSql | ReservedSql>(sql: TSql): TSql {
    const { savepoint } = sql as Partial<TransactionSql>
    return new Proxy(sql, {
      apply: (target, self, args) => this.#guarded(Reflect.apply(callable(target), self, args)),
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key)
        if (key === 'unsafe' || key === 'file') return (...args: unknown[]) => this.#guarded(callable(value)(...args))
        if (key === 'savepoint' && savepoint !== undefined) return this.#savepoint(savepoint)
        return value
      },
    })
  }

  /** A query is sent when it is first awaited, by its `handler`; fragments of other queries never are. */
  #guarded(made: unknown): unknown {
    const query = made as SendableQuery
    if (typeof query?.handler !== 'function' || typeof query.reject !== 'function') return made
    const { handler, resolve, reject } = query
    // One that was sent between the error of a socket and its end is forgotten by the driver.
    const forgotten = (reason: unknown) => reject(reason)
    query.handler = Object.assign((sent: unknown) => {
      if (this.#refusal !== undefined) return reject(this.#refusal.reason)
      this.#waiting.add(forgotten)
      return handler(sent)
    }, handler)
    query.resolve = (value) => {
      this.#waiting.delete(forgotten)
      resolve(value)
    }
    // At the rejection itself, before anybody who waits for it can send the next.
    query.reject = (error) => {
      this.#waiting.delete(forgotten)
      if (isConnectionLoss(error)) this.#refusal ??= { reason: error }
      reject(error)
    }
    return query
  }

  #savepoint(savepoint: TransactionSql['savepoint']) {
    return <T>(...args: [string, SavepointWork<T>] | [SavepointWork<T>]): Promise<T> => {
      const [name, work] = args.length === 2 ? args : [undefined, args[0]]
      const guardedWork: SavepointWork<T> = (sql) => this.whileHeld(() => work(this.guard(sql)))
      return new Promise((resolve, reject) => {
        if (this.#refusal !== undefined) return reject(this.#refusal.reason)
        this.#waiting.add(reject)
        const inner = name === undefined ? savepoint(guardedWork) : savepoint(name, guardedWork)
        inner
          .then(
            (value) => resolve(value as T),
            (error: unknown) => {
              if (isConnectionLoss(error)) this.#refusal ??= { reason: error }
              reject(error)
            },
          )
          .finally(() => this.#waiting.delete(reject))
      })
    }
  }

  #noticed(): Promise<void> {
    if (this.isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, NOTICED_AFTER_MS)
      this.#waiting.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

type SavepointWork<T> = (sql: TransactionSql) => T | Promise<T>

/** What we touch of a query beside its public face; the driver's version is pinned, and tests fail if this changes. */
interface SendableQuery {
  handler: (query: unknown) => unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

const callable = (value: unknown) => value as (...args: unknown[]) => unknown

/** The driver takes an array of queries for the promise of all of them. */
async function settled<T>(work: () => T | Promise<T>): Promise<T> {
  const outcome = await work()
  return (Array.isArray(outcome) ? Promise.all(outcome) : outcome) as Promise<T>
}
