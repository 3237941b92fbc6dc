/** The numbers of runners and runs, each once. Durations in milliseconds. */

/** How long a runner's right to a run lasts without a refresh. */
export const LEASE_TTL_MS = 30_000
/** How often a runner refreshes the leases of all its runs; three times within a lease. */
export const LEASE_HEARTBEAT_MS = 10_000
/** How often lost runners are looked for. With the lease, a dead runner's run is claimed again within 60 s. */
export const SWEEP_INTERVAL_MS = 30_000
/** How often a store that does not answer, or has only begun to, is asked whether it does. */
export const CONTACT_INTERVAL_MS = 2000
/** A claim without an answer for so long says that the runner cannot claim. */
export const CLAIM_PATIENCE_MS = 2000
/** How long the services of a runner that stops, and its farewell, may take. */
export const STOP_PATIENCE_MS = 2000
/** How often a runner asks for queued runs when nothing wakes it. */
export const CLAIM_INTERVAL_MS = 1000
/** How many lost runners a run survives without completing a node; after that it is abandoned. */
export const MAX_RUNNER_LOSSES = 3
/** Open work that is all later than this holds no lease: the run is given back to the queue until then. */
export const LONG_DELAY_MS = 30_000
/** How many elements of one map run at once, unless the engine is told otherwise. */
export const MAP_CONCURRENCY = 10
/** How long a handler may go on after its timeout before its attempt ends without it. */
export const TIMEOUT_GRACE_MS = 1000
/** A write that fails is tried again after this, doubling, up to the longest delay, for as long as its claim stands. */
export const WRITE_RETRY_DELAY_MS = 100
export const MAX_WRITE_RETRY_DELAY_MS = 5000
/** Longest delay of a timer: setTimeout fires at once above it. */
export const MAX_TIMER_MS = 2_147_483_647
/**
 * How long one call to the API of the database may take. Longer than the statement timeout of hosted projects (8 s), so that the
 * database says first why it is slow; a third of a lease, so that a heartbeat on a frozen connection costs no lease.
 */
export const STORE_TIMEOUT_MS = 10_000
/** How long a connection to the API is kept for the next call. Gateways close idle ones after 5 s and more. */
export const IDLE_CONNECTION_MS = 4000
/** How much longer than its wait is open a wait token is good: seven days. */
export const WAIT_TOKEN_LIFE_MS = 7 * 24 * 60 * 60 * 1000
/** How many runs a runner executes at once, unless it is told otherwise. */
export const RUNNER_CONCURRENCY = 10
/** How long active runs may go on when their runner drains, unless it is told otherwise. */
export const DRAIN_TIMEOUT_MS = 300_000
/** How often expired session variables are removed. */
export const SESSION_COLLECTION_INTERVAL_MS = 600_000
/** How often a drainer looks for writes that the warm tier has not. */
export const DRAIN_INTERVAL_MS = 250
/** After so long what a drainer that hangs had taken is given back. */
export const DRAIN_PATIENCE_MS = 15_000
/** Runs and changes that a drainer takes at once, at most. */
export const DRAIN_BATCH_RUNS = 50
export const DRAIN_BATCH_CHANGES = 500
/** How often the lag of the warm tier is measured, and from which age on it warns and pages. */
export const LAG_INTERVAL_MS = 1000
export const LAG_WARN_MS = 2000
export const LAG_PAGE_MS = 30_000
/** A measurement that takes longer has failed; the next one begins. Far below the lag that pages. */
export const LAG_PATIENCE_MS = 5000
/** How often the two tiers are compared, how many runs at once, and how long ago a run has changed that is. */
export const MIRROR_SWEEP_INTERVAL_MS = 30_000
export const MIRROR_SWEEP_RUNS = 500
export const MIRROR_SWEEP_SINCE_MS = 120_000
/** How long applied changes, and ended runs in the warm tier, are kept. */
export const MIRROR_RETENTION_MS = 3_600_000
/** How often a step that has handed out a worker job looks for its result. */
export const WORKER_JOB_POLL_MS = 500
