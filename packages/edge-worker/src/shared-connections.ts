import type { HandlersSql, LentSql } from './handlers-sql.ts'
import { MAX_OWN_CONNECTIONS } from './numbers.ts'
import type { WorkerConnection } from './worker-config.ts'
import type { ConnectionLimits, openConnections, WorkerConnections } from './worker-connections.ts'

/** Where a worker connects to, and how many connections it may have; workers that say the same share them. */
export interface ConnectionSource {
  readonly connection: WorkerConnection
  readonly databaseUrl: string | undefined
  readonly maxPgConnections: number
}

/**
 * The connections of one isolate or process, which its workers share: so it may serve more queues than there are connections. The
 * first worker opens them, the last one closes them.
 */
export class SharedConnections {
  readonly #open: typeof openConnections
  readonly #shared = new Set<Shared>()

  constructor(open: typeof openConnections) {
    this.#open = open
  }

  /**
   * What one worker uses; its `close` gives that back.
   *
   * @param workers how many workers will share them: as many connections carry the calls of all, {@link MAX_OWN_CONNECTIONS} at most
   */
  lend(
    source: ConnectionSource,
    workers: number,
    applicationName: string,
    limits: ConnectionLimits,
  ): WorkerConnections {
    let shared = [...this.#shared].find(({ source: other }) => isSameSource(source, other))
    if (shared === undefined) {
      const { connection, databaseUrl, maxPgConnections } = source
      const connections = this.#open({ ...connection, databaseUrl }, maxPgConnections, applicationName, {
        ...limits,
        ownConnections: Math.min(workers, MAX_OWN_CONNECTIONS),
      })
      shared = { source, connections, users: 0 }
      this.#shared.add(shared)
    }
    return this.#lend(shared)
  }

  #lend(shared: Shared): WorkerConnections {
    const { connections } = shared
    const handlers = new HandlersSqlOfWorker(connections.handlers)
    let isClosed = false
    shared.users++
    return {
      ...connections,
      handlers,
      close: async (timeoutMs) => {
        if (isClosed) return
        isClosed = true
        await handlers.close()
        if (--shared.users > 0) return
        this.#shared.delete(shared)
        await connections.close(timeoutMs)
      },
    }
  }
}

/** How many connections the workers of one isolate or process hold at most, those for an instant left out (docs/operations/limits.md). */
export function connectionsOf(workers: number, maxPgConnections: number): number {
  return Math.min(workers, MAX_OWN_CONNECTIONS) + maxPgConnections - 1
}

/** Whether two workers share their connections. */
export function isSameSource(one: ConnectionSource, other: ConnectionSource): boolean {
  return (
    one.connection.sql === other.connection.sql &&
    one.connection.connectionString === other.connection.connectionString &&
    one.databaseUrl === other.databaseUrl &&
    one.maxPgConnections === other.maxPgConnections
  )
}

interface Shared {
  readonly source: ConnectionSource
  readonly connections: WorkerConnections
  users: number
}

/** What the handlers of one worker have kept is given back with the worker, also by those that did not end. */
class HandlersSqlOfWorker implements HandlersSql {
  readonly #handlers: HandlersSql
  readonly #lent = new Set<LentSql>()

  constructor(handlers: HandlersSql) {
    this.#handlers = handlers
  }

  readArrays(types: Parameters<HandlersSql['readArrays']>[0]): void {
    this.#handlers.readArrays(types)
  }

  lend(signal: AbortSignal): LentSql {
    const lent = this.#handlers.lend(signal)
    this.#lent.add(lent)
    const giveBack = () => {
      if (this.#lent.delete(lent)) lent.giveBack()
    }
    return {
      get sql() {
        return lent.sql
      },
      giveBack,
    }
  }

  async close(): Promise<void> {
    for (const lent of this.#lent) lent.giveBack()
    this.#lent.clear()
  }
}
