/**
 * How long Starflow waits for a database. Each of its calls has a limit, after which its connection is destroyed, the call
 * rejects (SF418) and the next one gets a fresh connection. TCP alone tells of a peer that is gone after about 15 minutes, and of
 * one that lives and says nothing never. Milliseconds.
 */

/** Until a connection is made: a few round trips and one process of Postgres, which takes it well below a second. */
export const CONNECT_TIMEOUT_MS = 10_000

/**
 * One call. The hot calls take 1 to 30 ms, the slowest that a worker makes (compiling a flow behind its lock) some seconds; a
 * restart of Postgres takes about 5 s. Half a minute is also what a task's recovery waits beyond its timeout.
 */
export const CALL_TIMEOUT_MS = 30_000

/** A call of an operator that goes through much data: a pruning, a deletion, a repair. Ten minutes of Postgres at work. */
export const OPERATOR_CALL_TIMEOUT_MS = 600_000

/**
 * On a direct connection Postgres itself gives up after this part of the limit: so a call that is slow, but not lost, costs no
 * connection, and one that was given up does nothing any more.
 */
export const SERVER_PART_OF_TIMEOUT = 0.9

/** What the end of a client waits for calls under way, unless it is said. */
export const END_TIMEOUT_MS = 1_000

/** A silent connection is asked by TCP whether its peer is there: less than the 5 minutes after which the common NAT forgets it. */
export const KEEP_ALIVE_MS = 60_000

/** How often a listener looks whether its connection still is one. */
export const LISTENER_PROBE_MS = 30_000

/** Between two tries to listen again. */
export const LISTENER_RECONNECT_MS = 1_000

/**
 * A timer that fires later than this was held up with the whole process (suspended, or blocked by a handler), and what it waited for
 * may be there already: it waits as long once more.
 */
export const LATE_TIMER_MS = 1_000
