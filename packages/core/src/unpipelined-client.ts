import type { Sql } from 'postgres'

/**
 * The same client, but a connection is sent its next query only when the one before has been answered. Queries inside of
 * `sql.begin` and of a reserved connection go as ever.
 *
 * Why, for clients that prepare nothing because a transaction pooler may be between: the driver asks for the types of a query's
 * parameters (parse, describe, flush) before it sends them. If that goes behind another query, pgbouncer gives the session to
 * somebody else as soon as that other one is answered, and the types never arrive: the query, and all behind it, wait for ever.
 * A client that prepares is returned as it is.
 */
export function unpipelinedClient(client: Sql): Sql {
  if (client.options.prepare !== false) return client
  return new Proxy(client, {
    apply: (target, self, args) => alone(Reflect.apply(target, self, args)),
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key)
      if (key !== 'unsafe' && key !== 'file') return value
      return (...args: unknown[]) => alone((value as (...args: unknown[]) => unknown)(...args))
    },
  })
}

/** The driver asks a query that it has sent whether the connection may take another one. */
function alone(made: unknown): unknown {
  const query = made as SendableQuery
  if (typeof query?.handler === 'function') query.options.onexecute ??= () => false
  return made
}

/** What we touch of a query beside its public face; the driver's version is pinned, and a test fails if this changes. */
interface SendableQuery {
  readonly handler: unknown
  readonly options: { onexecute?: (connection: unknown) => boolean }
}
