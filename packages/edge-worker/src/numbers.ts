/** The numbers of the worker, each once. Durations in milliseconds, lengths in characters. */

/** What a worker's configuration is when nothing is said. */
export const DEFAULT_MAX_CONCURRENT = 10
export const DEFAULT_BATCH_SIZE = 10
export const DEFAULT_MAX_PG_CONNECTIONS = 4
export const DEFAULT_POLL_INTERVAL_MS = 20
export const DEFAULT_MAX_POLL_INTERVAL_MS = 1000

/** Below this a poll burns a core for no gain in latency. */
export const MIN_POLL_INTERVAL_MS = 10

export const HEARTBEAT_INTERVAL_MS = 5000
/** A claim counts as a heartbeat when the last sign of life is as old as this; the database wants 3 s, the rest is for the way. */
export const CLAIM_BEATS_AFTER_MS = 3500
/** How long a heartbeat waits behind a slow poll before it is also sent on another connection. */
export const HEARTBEAT_HEDGE_MS = 2000

/** Connections that carry the calls of the workers of one isolate or process, however many these are. */
export const MAX_OWN_CONNECTIONS = 4
/** A connection for such a heartbeat is closed when it had nothing to do for so long. */
export const SPARE_IDLE_MS = 20_000
/** The connections of `ctx.sql` are closed when no handler has used it for so long. */
export const HANDLERS_IDLE_MS = 20_000
/** When one of them was lost, how long others may finish what they have under way, and what waits for one is kept waiting. */
export const HANDLERS_LOST_MS = 10_000
/** How long a query may take that a handler has left behind when it ended. */
export const HANDLERS_LAST_CALLS_MS = 1000

/** While tasks end, how often a worker tells the database how many have: one that burns its CPU is killed after 2 s of it. */
export const USAGE_REPORT_INTERVAL_MS = 1000

/** How long started handlers get to end once the worker is told to stop. */
export const SHUTDOWN_GRACE_MS = 5000
/** How long a process lets started handlers finish after a signal, before it tells them; less than the 30 s of most supervisors. */
export const DEFAULT_DRAIN_TIMEOUT_MS = 20_000
/** How often a process whose function is disabled looks whether it still is. */
export const FENCED_RETRY_MS = 2000
/** Refused requests are told to the log no more often. */
export const REFUSAL_LOG_INTERVAL_MS = 60_000
/** How long a process waits after a start that failed, doubling. */
export const START_RETRY_MIN_MS = 1000
export const START_RETRY_MAX_MS = 30_000
/** How long the last database calls of a stopping worker may take. */
export const FAREWELL_MS = 2000

/** How often it is asked whether what has run for so long still counts; a cancelled run reaches its handlers within two seconds. */
export const LOST_LOOK_INTERVAL_MS = 1000

/** How long a handler gets to notice its aborted signal. Less than the 2 s that visibility outlives the timeout. */
export const TIMEOUT_GRACE_MS = 1000

/** A finished task waits at most this long for others to share its settle call, and only while others still run. */
export const SETTLE_COALESCE_MS = 10
/** Once so many have come, only those of the same moment are waited for. */
export const SETTLE_COALESCE_MIN_MS = 1
export const SETTLE_COALESCE_COUNT = 5

/** How often it is looked whether the runs are free whose reports had to wait, doubling. */
export const HELD_RUN_RETRY_MIN_MS = 100
export const HELD_RUN_RETRY_MAX_MS = 1000

export const DATABASE_BACKOFF_MIN_MS = 100
export const DATABASE_BACKOFF_MAX_MS = 5000
/** A leaving worker has not that long. */
export const DATABASE_BACKOFF_LEAVING_MS = 400

/** A local recompilation waits for the old workers to drain. */
export const DRAINING_RETRY_MS = 500
export const DRAINING_LIMIT_MS = 15_000

/** Wall clock of an edge function's isolate on the smallest hosted plan. */
export const DEFAULT_WALL_CLOCK_MS = 150_000
/** An isolate claims during this part of its life; the host sends new requests elsewhere after it. */
export const CLAIMING_PART_OF_LIFE = 0.5

/** Timeout of a step when neither it nor its flow says one, in seconds. */
export const DEFAULT_STEP_TIMEOUT_SECONDS = 60

export const FLOW_INPUT_CACHE_SIZE = 100
/** Unsupported messages are warned about once each, up to so many different ones; after that they are only counted. */
export const UNSUPPORTED_WARNINGS_KEPT = 1000

/** Longest delay of a timer: setTimeout fires at once above it. */
export const MAX_TIMER_MS = 2_147_483_647

/** How a queue worker retries when nothing is said. Seconds. */
export const DEFAULT_RETRY_LIMIT = 5
export const DEFAULT_RETRY_BASE_DELAY_SECONDS = 3
export const DEFAULT_RETRY_MAX_DELAY_SECONDS = 300
/** One day. */
export const MAX_RETRY_DELAY_SECONDS = 86_400

/** Attempts of one message that the platform failed, and that do not count: after so many an outage has lasted for three minutes. */
export const MAX_FORGIVEN = 10
/** Longest delay after such an attempt; it doubles from 1 s. */
export const FORGIVEN_MAX_DELAY_SECONDS = 30

/** How long a queue worker hides a message at a time, in seconds; while its handler runs it does so again and again. */
export const DEFAULT_VISIBILITY_SECONDS = 10
/** Which part of the visibility passes before it is extended. */
export const EXTEND_AFTER_PART = 0.5

/**
 * Largest map whose step may be transactional: each element commits by itself and holds the run meanwhile, so that they
 * take turns.
 */
export const TRANSACTIONAL_MAP_LIMIT = 1000
