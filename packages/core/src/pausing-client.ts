import type { ReservedSql, Sql, TransactionSql } from 'postgres'
import { inTransaction, isConnectionLoss, reserveConnection } from './held-connection.ts'

/** How long nothing is sent after a connection was lost. The driver drops such a connection some loop turns later. */
export const LOST_CONNECTION_PAUSE_MS = 20

/**
 * The same client, but after a connection was lost it waits a moment before it sends again.
 *
 * Why: postgres.js rejects the queries of a reset connection at the socket's `error` event, and drops the connection at
 * its `close` event, some turns of the event loop later. A query that is sent in between goes to the dead connection and
 * never settles. Who retries at once, or says farewell after a failure, does just that. Queries inside of `sql.begin` and
 * of a reserved connection need no pause: a lost one refuses them.
 *
 * A client of one connection also sends `select 1` then: where the server said why it hung up, the driver keeps that
 * error and blames the first query of the next connection for it, unsent. In a pool of more that may hit a query; its
 * error (57P01) is one of the connection, and a handler that fails by it is retried.
 *
 * @param losses shared by clients of one database: a server that restarts resets them all, also those that are idle and
 * have no query to be told by
 * @param prepare done with the unguarded client before the first query, which fails where it fails; then done again before
 * the next one
 */
export function pausingClient(
  client: Sql,
  losses: ConnectionLosses = new ConnectionLosses(),
  prepare?: (client: Sql) => Promise<void>,
): Sql {
  let recovering: Promise<void> | undefined
  let preparing: Promise<void> | undefined
  let isPrepared = prepare === undefined
  let seenLosses = losses.count

  const lost = (error: unknown) => {
    if (isConnectionLoss(error)) losses.add()
  }
  /** Undefined when nothing was lost and all is prepared: then a query is sent at once. */
  const pause = (): Promise<void> | undefined => {
    if (seenLosses !== losses.count) recovering ??= recover()
    if (!isPrepared) preparing ??= prepareAfter(recovering)
    return preparing ?? recovering
  }
  async function prepareAfter(recovered: Promise<void> | undefined): Promise<void> {
    await recovered
    try {
      await prepare?.(client)
      isPrepared = true
    } catch (error) {
      lost(error)
      throw error
    } finally {
      preparing = undefined
    }
  }
  async function recover(): Promise<void> {
    while (seenLosses !== losses.count) {
      seenLosses = losses.count
      await new Promise((resolve) => setTimeout(resolve, LOST_CONNECTION_PAUSE_MS))
    }
    if (client.options.max === 1) await client`select 1`.catch(lost)
    recovering = undefined
  }

  /** A query is sent when it is first awaited, by its `handler`; fragments of other queries never are. */
  function guarded(made: unknown): unknown {
    const query = made as SendableQuery
    if (typeof query?.handler !== 'function' || typeof query.reject !== 'function') return made
    const { handler, reject } = query
    query.handler = Object.assign((sent: unknown) => {
      const paused = pause()
      if (paused === undefined) handler(sent)
      else void paused.then(() => handler(sent), reject)
    }, handler)
    // At the rejection itself, before anybody who waits for it can act.
    query.reject = (error) => {
      lost(error)
      reject(error)
    }
    return query
  }

  /** `begin`, `reserve` and the like send queries of their own making. */
  async function afterPause(send: () => Promise<unknown>): Promise<unknown> {
    await pause()
    try {
      return await send()
    } catch (error) {
      lost(error)
      throw error
    }
  }

  const begin = (...args: [string, Work] | [Work]): Promise<unknown> => {
    const [options, work] = args.length === 2 ? args : ['', args[0]]
    return afterPause(() => inTransaction(client, work, options))
  }
  const reserve = () => afterPause(() => reserveConnection(client)) as Promise<ReservedSql>

  return new Proxy(client, {
    apply: (target, self, args) => guarded(Reflect.apply(target, self, args)),
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key)
      if (key === 'unsafe' || key === 'file') return (...args: unknown[]) => guarded(callable(value)(...args))
      if (key === 'begin') return begin
      if (key === 'reserve') return reserve
      if (key === 'listen' || key === 'notify') {
        return (...args: unknown[]) => afterPause(() => callable(value)(...args) as Promise<unknown>)
      }
      return value
    },
  })
}

/** The connections to one database that were lost so far. */
export class ConnectionLosses {
  count = 0

  add(): void {
    this.count++
  }
}

/** What we touch of a query beside its public face; the driver's version is pinned, and a test fails if this changes. */
interface SendableQuery {
  handler: (query: unknown) => unknown
  reject: (error: unknown) => void
}

type Work = (transaction: TransactionSql) => unknown

const callable = (value: unknown) => value as (...args: unknown[]) => unknown
