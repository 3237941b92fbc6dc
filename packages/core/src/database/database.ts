import { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { StarflowError } from '@starflow/errors'
import pg from 'pg'
import { CallLimit } from './call-limit.ts'
import { COLUMN_TYPES } from './column-types.ts'
import { connectionLost, databaseTimeout } from './connection-loss.ts'
import type { DatabaseAddress, TlsMode } from './database-address.ts'
import {
  CALL_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  END_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  SERVER_PART_OF_TIMEOUT,
} from './database-limits.ts'
import { DatabaseListener, type ListenerEvents } from './database-listener.ts'
import type { Sql, SqlRow, SqlValue } from './sql.ts'

export interface DatabaseOptions {
  /** How pg_stat_activity names the connections. */
  readonly applicationName: string
  /** How many connections there may be; each is opened when it is first needed. Default 1. */
  readonly connections?: number
  /** Closes a connection that had nothing to do for so long. Default: never. */
  readonly idleTimeoutMs?: number
  /** Default: prepared, except where the address says that a transaction pooler is between. */
  readonly prepare?: boolean
  /** The limit of a call, waiting for a connection included. Default 30 s. */
  readonly callTimeoutMs?: number
  /** Default 10 s. */
  readonly connectTimeoutMs?: number
  /** A call was given up, and its connection with it: for the log of the owner, beside the error that the caller gets. */
  readonly onTimeout?: (timeout: StarflowError) => void
}

/**
 * Connections to one database for Starflow's own calls, and itself the tag that runs them ({@link Sql}).
 *
 * Each call ends: with its answer, with an error, or with SF418 when its limit is over. Then its connection is destroyed, so that the
 * next call gets a fresh one. A connection that is lost fails the call that it carries, and no later one.
 */
export interface Database extends Sql {
  /** Whether statements are prepared. A call is one round trip either way. */
  readonly prepares: boolean
  /** The same connections, with another limit for each call; on a client that prepares, a shorter one. */
  within(timeoutMs: number): Transactions
  begin: Transactions['begin']
  /**
   * Listens on a separate connection until the returned function is called, over lost connections too.
   *
   * @throws what the first try to listen fails with
   */
  listen(channel: string, events: ListenerEvents): Promise<() => void>
  /** Waits for calls under way, `timeout` seconds at most (default 1), and closes everything. Later calls reject. */
  end(options?: { readonly timeout?: number }): Promise<void>
}

export interface Transactions extends Sql {
  /**
   * Runs `work` in a transaction, which is committed when its promise resolves, and rolled back otherwise or when one of its
   * statements failed. A lost connection is a rollback, unless the commit was under way. Statements take turns.
   */
  begin<T>(work: (transaction: Sql) => Promise<T>): Promise<T>
}

/** Opens no connection yet. */
export function openDatabase(address: DatabaseAddress, options: DatabaseOptions): Database {
  const connections = new Connections(address, options)
  const { callTimeoutMs = CALL_TIMEOUT_MS } = options
  const stopListening = new Set<() => void>()
  return Object.assign(connections.sql(callTimeoutMs), {
    prepares: connections.prepares,
    within: (timeoutMs: number) => connections.sql(timeoutMs),
    listen: async (channel: string, events: ListenerEvents) => {
      const listener = new DatabaseListener(() => connections.connect(), channel, events, callTimeoutMs)
      const stop = () => {
        stopListening.delete(stop)
        listener.stop()
      }
      stopListening.add(stop)
      try {
        await listener.start()
      } catch (error) {
        stop()
        throw error
      }
      return stop
    },
    end: ({ timeout = END_TIMEOUT_MS / 1000 } = {}) => {
      for (const stop of stopListening) stop()
      return connections.end(timeout * 1000)
    },
  })
}

/** One text of a statement, and the name under which a connection has prepared it. */
interface Statement {
  readonly text: string
  name?: string | undefined
}

class Connections {
  readonly prepares: boolean
  readonly #pool: pg.Pool
  readonly #options: DatabaseOptions
  readonly #config: pg.ClientConfig
  /** Ours, so that they can be destroyed whatever the driver waits for. */
  readonly #sockets = new Set<Socket>()
  readonly #calls = new Set<CallLimit>()
  readonly #statements = new WeakMap<TemplateStringsArray, Statement>()
  /** A session that a pooler hands on may have statements of others. */
  readonly #namePrefix = `starflow_${crypto.randomUUID().slice(0, 8)}`
  #prepared = 0
  readonly #preferredTls: DatabaseAddress['tls']
  #tls: DatabaseAddress['tls']
  #ended: Promise<void> | undefined

  constructor(address: DatabaseAddress, options: DatabaseOptions) {
    this.prepares = options.prepare ?? !address.isTransactionPooler
    this.#options = options
    this.#preferredTls = address.tls
    this.#tls = address.tls
    const { applicationName, callTimeoutMs = CALL_TIMEOUT_MS } = options
    this.#config = {
      host: address.host,
      port: address.port,
      user: address.user,
      // Asked for when it is needed, so that it is not shown with the client.
      password: typeof address.password === 'string' ? () => address.password as string : address.password,
      database: address.database,
      application_name: applicationName.slice(0, 63),
      connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      types: COLUMN_TYPES,
    }
    const newClient = () => this.#newClient()
    this.#pool = new pg.Pool({
      max: options.connections ?? 1,
      idleTimeoutMillis: options.idleTimeoutMs ?? 0,
      // The driver calls it with `new`.
      Client: function Client() {
        return newClient()
      } as unknown as new () => pg.ClientBase,
    })
    // An idle connection was lost: the pool has dropped it.
    this.#pool.on('error', () => {})
    if (address.isTransactionPooler) return
    // Not as parameters of the session's start, which poolers refuse; sent before the first call, which fails where this does.
    // Where statements are not prepared a pooler may be there unsaid: it keeps a date style apart, but hands a timeout on to others.
    const timeout = `set statement_timeout = ${Math.ceil(callTimeoutMs * SERVER_PART_OF_TIMEOUT)};`
    const settings = `${this.prepares ? timeout : ''} set datestyle = 'ISO'; set intervalstyle = 'postgres'`
    this.#pool.on('connect', (client) => void client.query(settings).catch(() => {}))
  }

  /** A connection beside the pool's, made; its owner ends it. */
  async connect(): Promise<pg.Client> {
    const client = this.#newClient()
    try {
      await client.connect()
      return client
    } catch (error) {
      if (!this.#goesWithoutTls(error)) throw error
      return await this.connect()
    }
  }

  /** A connection that is not made yet. */
  #newClient(): pg.Client {
    const client = new pg.Client({ ...this.#config, ssl: tlsOptions(this.#tls), stream: () => this.#newSocket() })
    // Between two statements of a transaction no call is there to be told; the next one is.
    client.on('error', () => {})
    return client
  }

  sql(timeoutMs: number): Transactions {
    const tag = <T>(strings: TemplateStringsArray, ...values: readonly SqlValue[]) =>
      this.#call<T>(this.#statement(strings), values, timeoutMs)
    return Object.assign(tag, {
      unsafe: <T>(text: string, values: readonly SqlValue[] = []) => this.#call<T>({ text }, values, timeoutMs),
      begin: <T>(work: (transaction: Sql) => Promise<T>) => this.#begin(work, timeoutMs),
    }) as Transactions
  }

  end(timeoutMs: number): Promise<void> {
    this.#ended ??= this.#end(timeoutMs)
    return this.#ended
  }

  async #end(timeoutMs: number): Promise<void> {
    // Those who wait for a connection get none from a pool that ends.
    for (const call of this.#calls) if (!call.hasConnection) call.reject(ended())
    const closed = this.#pool.end().then(() => this.#socketsClosed())
    let overdue: ReturnType<typeof setTimeout> | undefined
    const cut = new Promise((resolve) => {
      overdue = setTimeout(resolve, timeoutMs)
    }).then(() => {
      for (const call of this.#calls) call.reject(ended())
      for (const socket of this.#sockets) socket.destroy()
      return this.#socketsClosed()
    })
    await Promise.race([closed, cut])
    clearTimeout(overdue)
  }

  async #socketsClosed(): Promise<void> {
    await Promise.all([...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  #newSocket(): Socket {
    const socket = new Socket()
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    return socket
  }

  #statement(strings: TemplateStringsArray): Statement {
    let statement = this.#statements.get(strings)
    if (statement === undefined) {
      statement = { text: strings.reduce((text, part, index) => `${text}$${index}${part}`) }
      if (this.prepares) statement.name = this.#newName()
      this.#statements.set(strings, statement)
    }
    return statement
  }

  #newName(): string {
    return `${this.#namePrefix}_${++this.#prepared}`
  }

  async #call<T>(statement: Statement, values: readonly SqlValue[], timeoutMs: number): Promise<T> {
    return await this.#limited(timeoutMs, async (limit) => {
      const client = await this.#checkOut(limit)
      try {
        const rows = await this.#run<T>(client, statement, values, limit)
        client.release()
        return rows
      } catch (error) {
        client.release(!isAnswer(error))
        throw error
      }
    })
  }

  async #begin<T>(work: (transaction: Sql) => Promise<T>, timeoutMs: number): Promise<T> {
    const client = await this.#limited(timeoutMs, (limit) => this.#checkOut(limit))
    let failure: { readonly error: unknown } | undefined
    let isOver = false
    let last: Promise<unknown> = Promise.resolve()
    /** The driver wants to be asked one thing at a time. */
    const inTurn = <R>(statement: Statement, values: readonly SqlValue[]): Promise<R> => {
      const run = async () => {
        if (isOver) throw new Error('The transaction is over.')
        if (failure !== undefined && !isAnswer(failure.error)) throw failure.error
        try {
          return await this.#limited(timeoutMs, (limit) => this.#run<R>(client, statement, values, limit))
        } catch (error) {
          failure ??= { error }
          throw error
        }
      }
      const turn = last.then(run, run)
      last = turn
      return turn
    }
    const tag = <R>(strings: TemplateStringsArray, ...values: readonly SqlValue[]) =>
      inTurn<R>(this.#statement(strings), values)
    const unsafe = <R>(text: string, values: readonly SqlValue[] = []) => inTurn<R>({ text }, values)
    // Also while the work waits for something else.
    let onEnd = () => {}
    const lost = new Promise<never>((_, reject) => {
      onEnd = () => {
        failure ??= { error: connectionLost(new Error('it ended in a transaction')) }
        reject(failure.error)
      }
    })
    lost.catch(() => {})
    client.once('end', onEnd)
    try {
      await unsafe('begin')
      const result = await Promise.race([work(Object.assign(tag, { unsafe }) as Sql), lost])
      await last.catch(() => {})
      if (failure !== undefined) throw failure.error
      await unsafe('commit')
      isOver = true
      client.release()
      return result
    } catch (error) {
      const isLost = failure !== undefined && !isAnswer(failure.error)
      const isRolledBack =
        !isLost &&
        (await unsafe('rollback').then(
          () => true,
          () => false,
        ))
      isOver = true
      client.release(!isRolledBack)
      // What failed is the statement before the one that says that the transaction is aborted.
      throw failure !== undefined && (error as { code?: unknown }).code === '25P02' ? failure.error : error
    } finally {
      client.removeListener('end', onEnd)
    }
  }

  /** Rejects with SF418 when the limit is over, and tells the owner. */
  async #limited<T>(timeoutMs: number, work: (limit: CallLimit) => Promise<T>): Promise<T> {
    const limit = new CallLimit(timeoutMs, () => {
      const error = databaseTimeout(timeoutMs)
      this.#options.onTimeout?.(error)
      return error
    })
    this.#calls.add(limit)
    try {
      return await work(limit)
    } catch (error) {
      throw coded(error)
    } finally {
      limit.end()
      this.#calls.delete(limit)
    }
  }

  async #checkOut(limit: CallLimit): Promise<pg.PoolClient> {
    if (this.#ended !== undefined) throw ended()
    const connecting = this.#pool.connect()
    try {
      const client = await limit.race(connecting)
      limit.hasConnection = true
      return client
    } catch (error) {
      // One that comes later is for others.
      void connecting.then(
        (client) => client.release(),
        () => {},
      )
      if (!this.#goesWithoutTls(error)) throw error
      return await this.#checkOut(limit)
    }
  }

  /** The server has no TLS, and the address only prefers it: true once for each connection that was begun with it. */
  #goesWithoutTls(error: unknown): boolean {
    if (this.#preferredTls !== 'prefer' || !isWithoutTls(error)) return false
    this.#tls = 'disable'
    return true
  }

  async #run<T>(
    client: pg.PoolClient,
    statement: Statement,
    values: readonly SqlValue[],
    limit: CallLimit,
  ): Promise<T> {
    const { name } = statement
    const ask = () => {
      const named = statement.name === undefined ? {} : { name: statement.name }
      // Without values the driver sends a text as it is, which may be several statements.
      const given = values.length === 0 && name === undefined ? {} : { values: values as SqlValue[] }
      return limit.race(client.query<SqlRow>({ text: statement.text, ...named, ...given }))
    }
    try {
      return (await ask()).rows as T
    } catch (error) {
      if (name === undefined || !isStale(error)) throw error
      // Nothing was executed. The name is taken: under another one the statement is prepared again.
      if (statement.name === name) statement.name = this.#newName()
      return (await ask()).rows as T
    }
  }
}

/** An error of the server that leaves the connection as it is. Its severity may be in another language: its code tells too. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  return !/^(FATAL|PANIC)$/.test(error.severity ?? '') && !/^(08|57P0|53300|25P0[34])/.test(error.code ?? '')
}

/** A prepared statement that the server has forgotten, or whose tables or functions were changed since. */
function isStale(error: unknown): boolean {
  const { code, routine } = error as { code?: unknown; routine?: unknown }
  return (code === '0A000' && routine === 'RevalidateCachedQuery') || code === '26000'
}

const isWithoutTls = (error: unknown) => /does not support SSL/.test((error as Error).message)

/** What the driver says in words only. An answer of the server is named by the driver `error`, which says nothing in a log. */
function coded(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) return Object.assign(error, { name: 'PostgresError' })
  const { code, message } = error as { code?: unknown; message: string }
  if (typeof code === 'string' || isWithoutTls(error)) return error
  return /connection (terminated|error)|timeout expired|Client was closed/i.test(message)
    ? connectionLost(error)
    : error
}

function ended(): Error {
  return Object.assign(new Error('The connections to the database were closed.'), { code: 'CONNECTION_ENDED' })
}

/** As postgres.js and libpq have it: only `verify-ca` and `verify-full` look at the certificate. */
function tlsOptions(mode: TlsMode | ConnectionOptions): ConnectionOptions | false {
  if (typeof mode === 'object') return mode
  if (mode === 'disable') return false
  if (mode === 'verify-full') return {}
  if (mode === 'verify-ca') return { checkServerIdentity: () => undefined }
  return { rejectUnauthorized: false }
}
