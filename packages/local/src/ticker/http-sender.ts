import type { Sql } from 'postgres'
import { DatabaseLoop } from './database-loop.ts'
import type { TickerEventListener } from './ticker-event.ts'

export interface HttpSenderOptions {
  /** As a role that may read the queue and write answers. */
  readonly admin: Sql
  readonly onEvent: TickerEventListener
  /** How long it takes at most until a request is noticed whose notification was lost. */
  readonly intervalMs: number
  /** Requests that may be open at once; further ones wait in the queue. */
  readonly maxConcurrent: number
}

/** A row of net.http_request_queue. */
interface RequestRow {
  readonly id: string
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string> | null
  readonly body: Uint8Array | null
  readonly timeout_milliseconds: number
}

interface Outcome {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly content?: string
  readonly isTimeout: boolean
  readonly error?: string
}

/** pg_net's channel and the time that it keeps answers. */
const CHANNEL = 'net_http_request'
const PRUNE_INTERVAL_MS = 60_000

/**
 * Sends what `net.http_get`, `net.http_post` and `net.http_delete` have queued, as pg_net does: after the transaction that
 * queued it committed, each with its own timeout, and with the answer in `net._http_response`. A request is taken out of the
 * queue before it is sent, so it is sent at most once.
 */
export class HttpSender {
  readonly #options: HttpSenderOptions
  readonly #loop: DatabaseLoop
  readonly #open = new Set<Promise<void>>()
  #stopping = new AbortController()
  #unlisten: (() => Promise<void>) | undefined
  #isListening = false
  #prunedAt = 0

  constructor(options: HttpSenderOptions) {
    this.#options = options
    this.#loop = new DatabaseLoop({
      name: 'net',
      intervalMs: options.intervalMs,
      pass: () => this.#pass(),
      onEvent: options.onEvent,
    })
  }

  start(): void {
    if (this.#stopping.signal.aborted) this.#stopping = new AbortController()
    this.#loop.start()
  }

  /** Breaks off open requests, and settles when none is left. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop.stop()
    await Promise.all(this.#open)
    await this.#unlisten?.().catch(() => {})
    this.#unlisten = undefined
    this.#isListening = false
  }

  async #pass(): Promise<void> {
    const { admin, maxConcurrent } = this.#options
    await this.#listen()
    const [installed] = await admin<{ is: boolean }[]>`select to_regclass('net.http_request_queue') is not null as is`
    if (installed?.is !== true) return
    const free = maxConcurrent - this.#open.size
    if (free <= 0) return
    const rows = await admin<RequestRow[]>`
      with taken as (
        delete from net.http_request_queue
        where id in (select id from net.http_request_queue order by id limit ${free} for update skip locked)
        returning id, method, url, headers, body, timeout_milliseconds
      )
      select id::text, method, url, headers, body, timeout_milliseconds from taken order by taken.id`
    for (const row of rows) {
      const request = this.#send(row).finally(() => {
        this.#open.delete(request)
        // It may have been the last free place that somebody waits for.
        if (this.#open.size === maxConcurrent - 1) this.#loop.wake()
      })
      this.#open.add(request)
    }
    await this.#prune()
  }

  /** Once: the driver listens again by itself on each new connection, and wakes us, since it may have missed something. */
  async #listen(): Promise<void> {
    if (this.#isListening) return
    const wake = () => this.#loop.wake()
    const { unlisten } = await this.#options.admin.listen(CHANNEL, wake, wake)
    this.#unlisten = unlisten
    this.#isListening = true
  }

  async #send(row: RequestRow): Promise<void> {
    const { admin, onEvent } = this.#options
    const outcome = await perform(row, this.#stopping.signal)
    if (outcome.error !== undefined && !this.#stopping.signal.aborted) {
      onEvent({ type: 'ticker.request_failed', requestId: row.id, message: outcome.error })
    }
    try {
      await admin`
        insert into net._http_response (id, status_code, content_type, headers, content, timed_out, error_msg)
        values (
          ${row.id}, ${outcome.status ?? null}, ${outcome.headers?.['content-type'] ?? null},
          ${outcome.headers === undefined ? null : admin.json(outcome.headers)}, ${outcome.content ?? null},
          ${outcome.isTimeout}, ${outcome.error ?? null})`
    } catch {
      // The database is gone, and with it the wish to know: both tables are unlogged.
    }
  }

  async #prune(): Promise<void> {
    if (performance.now() - this.#prunedAt < PRUNE_INTERVAL_MS) return
    this.#prunedAt = performance.now()
    await this.#options.admin`delete from net._http_response where created < now() - interval '6 hours'`
  }
}

async function perform(row: RequestRow, stopping: AbortSignal): Promise<Outcome> {
  const timeout = AbortSignal.timeout(Math.max(row.timeout_milliseconds, 0))
  try {
    const response = await fetch(row.url, {
      method: row.method,
      headers: row.headers ?? {},
      body: row.body === null ? null : Buffer.from(row.body),
      redirect: 'manual',
      signal: AbortSignal.any([timeout, stopping]),
    })
    // Postgres text cannot hold NUL.
    const content = (await response.text()).replaceAll('\u0000', '')
    return { status: response.status, headers: Object.fromEntries(response.headers), content, isTimeout: false }
  } catch (error) {
    if (timeout.aborted) {
      return { isTimeout: true, error: `Timeout of ${row.timeout_milliseconds} ms reached.` }
    }
    return { isTimeout: false, error: reasonOf(error) }
  }
}

/** fetch hides the reason ("connect ECONNREFUSED 127.0.0.1:1") in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message
}
