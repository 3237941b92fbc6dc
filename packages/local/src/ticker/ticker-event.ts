/** What the ticker tells. Commands, URLs and bodies are never part of it. Silent while all goes well. */
export type TickerEvent =
  | {
      readonly type: 'ticker.job_failed'
      readonly jobId: string
      readonly jobName: string | undefined
      /** What Postgres said. */
      readonly message: string
    }
  | { readonly type: 'ticker.request_failed'; readonly requestId: string; readonly message: string }
  /** A loop could not reach the database; it tries again after `retryInMs`. */
  | {
      readonly type: 'ticker.database_lost'
      readonly loop: string
      readonly message: string
      readonly retryInMs: number
    }
  | { readonly type: 'ticker.database_back'; readonly loop: string }

export type TickerEventListener = (event: TickerEvent) => void
