/** The numbers of the server, each once. Durations in milliseconds, sizes in bytes. */

/** How long active runs may go on after the first signal. */
export const DRAIN_TIMEOUT_MS = 300_000
/** The longest request body; a larger one is refused before it is read. */
export const MAX_BODY_BYTES = 1_048_576
/** Failed authentications that one address may have within the window; then it is told to wait. */
export const MAX_FAILED_ATTEMPTS = 10
export const FAILED_ATTEMPTS_WINDOW_MS = 60_000
/** Addresses and tokens that are remembered at most: a flood of addresses must not fill the memory. */
export const MAX_REMEMBERED_CALLERS = 10_000
/** How long a sign-in of the dashboard is good. */
export const SESSION_TTL_MS = 12 * 60 * 60_000
/** How long a link that signs in is good, if nobody has used it; and how many of them are at a time. */
export const SIGN_IN_CODE_TTL_MS = 10 * 60_000
export const MAX_SIGN_IN_CODES = 10
/** Runs, waits and events on one page, unless the request says otherwise; and at most. */
export const PAGE_SIZE = 50
export const MAX_PAGE_SIZE = 500
/** Runs that one page of a list looks at, at most: what no index finds could else take as long as there are runs. */
export const MAX_LOOKED_AT_RUNS = 10_000
/** The longest text that runs are searched for. */
export const MAX_SEARCH_LENGTH = 200
/** Inputs and outputs up to this size are part of a run as it is shown; larger ones are asked for. */
export const MAX_INLINE_BYTES = 65_536
/** Of a step with many tasks, the attempts of so many are part of a run as it is shown. */
export const SHOWN_TASKS = 20
/** Runs that one request cancels or retries, at most, and how many of them at once. */
export const MAX_BULK_RUNS = 100
export const BULK_CONCURRENCY = 8
/** Of a step that was tried very often, so many attempts are shown: the last ones. */
export const MAX_SHOWN_ATTEMPTS = 50
/** Logs of runs that somebody looks at are kept for the next look: so many. */
export const MAX_KEPT_LOGS = 50
/** The longest delay that a start may ask for. */
export const MAX_START_DELAY_MS = 366 * 24 * 60 * 60_000
/** How old what an overview shows may be, and of it the audit of all open runs. */
export const OVERVIEW_KEPT_MS = 2000
export const LIVENESS_KEPT_MS = 30_000
/** Of so many scopes at a time; others ask anew. */
export const OVERVIEW_KEPT_SCOPES = 100
/** How old the list of queues may be: every page of a dashboard asks for it. */
export const QUEUES_KEPT_MS = 500
/** Of what the audit finds and of workers, so many are told, at most. */
export const MAX_LIVENESS_PROBLEMS = 100
export const MAX_LISTED_WORKERS = 10_000
/** About how many points a history has, at most. */
export const HISTORY_POINTS = 500
/** How far a history goes back, unless the request says otherwise: as long as samples are kept. */
export const HISTORY_SHOWN_MS = 7 * 24 * 60 * 60_000
/** How often a look is taken for whoever listens to hints. */
export const LIVE_INTERVAL_MS = 1000
/** Runs that one listener may watch, at most. */
export const MAX_WATCHED_RUNS = 20
/** How often a stream of events looks for new ones. */
export const EVENT_POLL_MS = 500
/** How far back each look goes: longer than a transaction of the SQL core lasts, so that what happened before, everybody sees. */
export const EVENT_OVERLAP_MS = 60_000
/** A stream without events sends a comment this often, so that proxies keep it. */
export const STREAM_KEEPALIVE_MS = 15_000
/** Runs that one process executes at once, unless it is told otherwise. */
export const RUNNER_CONCURRENCY = 10
/** How long open connections may take to finish their answers when everything else has stopped. */
export const CLOSE_TIMEOUT_MS = 5000
/** The shortest operator's token: 16 characters of base64 are 96 bits. */
export const MIN_API_TOKEN_LENGTH = 16

/** How far the timestamp of a webhook may be from the clock of the server, to either side. */
export const WEBHOOK_TOLERANCE_MS = 300_000
/** The shortest secret that a webhook may be signed with. */
export const MIN_WEBHOOK_SECRET_LENGTH = 16
/** Missed instants of a schedule that fire at most with `catchUp: all`, unless it says otherwise; and at most. */
export const CATCH_UP_LIMIT = 10
export const MAX_CATCH_UP_LIMIT = 1000
/** An instant that is seen this late is on time; what is older was missed, and its catch-up rule decides. */
export const SCHEDULE_GRACE_MS = 60_000
/** How long the scheduler sleeps at most: so late it notices that the clock of the database has jumped. */
export const SCHEDULER_INTERVAL_MS = 5000
/** A firing whose run is not started this long after is started by any edge: whoever recorded it may be gone. */
export const UNSTARTED_AFTER_MS = 10_000
/** How long firings are kept that have started their run. */
export const FIRING_RETENTION_MS = 7 * 24 * 60 * 60_000
/** How many firings of others are started in one go, and how often old ones are forgotten. */
export const FIRING_BATCH = 100
export const FIRING_PRUNE_INTERVAL_MS = 3_600_000
/** Timers may ring a moment early: a look that was too early is followed by another, but not at once. */
export const SCHEDULER_SHORTEST_SLEEP_MS = 10
/** Connections for requests that need SQL of their own; runners have theirs. */
export const DATABASE_CONNECTIONS = 8
/** Connections for the mirror: one drains, two are for what is read meanwhile. */
export const MIRROR_CONNECTIONS = 3
/** How long a connection to a file waits for the write of another one. */
export const SQLITE_BUSY_TIMEOUT_MS = 1000
/** How long `/readyz` waits for what the process needs: without an answer by then it is not ready. */
export const READY_TIMEOUT_MS = 2000
/** How long services that stop, and the storage, may take when the process ends; then it ends without them. */
export const STOP_TIMEOUT_MS = 3000
/** How long a worker job is its worker's without a heartbeat, unless the claim says otherwise; and at most. In seconds. */
export const JOB_LEASE_S = 30
export const MAX_JOB_LEASE_S = 3600
/** How long a claim waits for a job, unless it says otherwise; and at most: proxies cut longer answers. In seconds. */
export const JOB_WAIT_S = 20
export const MAX_JOB_WAIT_S = 50
/** How often a claim that waits looks for a job. */
export const JOB_POLL_MS = 250
/** The longest text with which a worker may say why a job failed. */
export const MAX_JOB_ERROR_LENGTH = 10_000
/** How long whoever is told of a problem, or of a mirror's lag, may take to answer. */
export const ALERT_TIMEOUT_MS = 5000
/** How long the figures of the database that were read for one scrape are given to others. */
export const METRICS_CACHE_MS = 1000
/** How long the database may take to tell them; then it counts as away. */
export const METRICS_TIMEOUT_MS = 2000
/** The bounds of the histogram of requests, in seconds. The last ones are for long polls. */
export const REQUEST_DURATION_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

/** Writes that the warm tier refused and that are shown, at most. */
export const MAX_SHOWN_REFUSALS = 100
/** What of a log waits for its reader, at most; beyond it lines are left out. */
export const MAX_LOG_BACKLOG_BYTES = 1_048_576
/** A line that would come again and again is logged once in so long, with how often it would have come. */
export const REPEATED_LINE_INTERVAL_MS = 10_000
/** Queued runs that nobody serves are counted up to this. */
export const MAX_COUNTED_UNSERVED_RUNS = 1000
/** How often alerts look for problems. */
export const ALERT_INTERVAL_MS = 10_000
/** How far back failed runs and stalls are looked for, unless the file says otherwise; and at most. */
export const ALERT_WINDOW_MINUTES = 15
export const MAX_ALERT_WINDOW_MINUTES = 1440
/** How long a queue may be uncovered before somebody is told, unless the file says otherwise; and at most. In seconds. */
export const ALERT_GRACE_S = 120
export const MAX_ALERT_GRACE_S = 86_400
/** A problem is resolved when it was not seen for so long: what comes and goes is one problem. */
export const ALERT_RESOLVE_AFTER_MS = 30_000
/** What comes within this of a message is told in the next one, unless the file says otherwise; and at most. In seconds. */
export const ALERT_GROUP_S = 60
export const MAX_ALERT_GROUP_S = 86_400
/** Problems in one message, at most; the rest comes in the next one. */
export const MAX_PROBLEMS_IN_MESSAGE = 100
/** How long a message belongs to the process that sends it. */
export const ALERT_LEASE_MS = 30_000
/** A message that was not taken is sent again after this, doubling, up to the longest delay, so many times in all. */
export const ALERT_RETRY_MS = 10_000
export const MAX_ALERT_RETRY_MS = 900_000
export const MAX_ALERT_ATTEMPTS = 12
/** How long resolved problems and messages are kept. */
export const ALERT_RETENTION_MS = 7 * 24 * 60 * 60_000
/** How often old ones are forgotten. */
export const ALERT_PRUNE_INTERVAL_MS = 3_600_000
/** How long a token of a wait may be good at most, in seconds: two years. */
export const MAX_WAIT_TOKEN_LIFE_S = 2 * 366 * 24 * 60 * 60
/** How deep JSON of a request may be nested: far more than is written, far less than what recursion and Postgres bear. */
export const MAX_JSON_DEPTH = 256
/** How often a request that stays open looks whether its caller still has the right to it. */
export const ALLOWED_CHECK_MS = 2000
/** How long a look of the dashboard at a file waits for a write of another connection. */
export const SQLITE_READ_TIMEOUT_MS = 2000
/** How long a client may take for the header of a request, and for the whole of it with its body; and how often that is looked at. */
export const HEADERS_TIMEOUT_MS = 10_000
export const REQUEST_TIMEOUT_MS = 60_000
export const SLOW_CLIENT_CHECK_MS = 2000
