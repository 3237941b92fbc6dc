import { readdirSync, readFileSync } from 'node:fs'
import type { Sql } from 'postgres'

/** What the whole server has used since it started. */
export interface PostgresReading {
  readonly walBytes: number
  readonly cpuMs: number
}

export interface TupleFigures {
  readonly deadTuples: number
  /** Updates that touched no index, of all updates, from 0 to 1. */
  readonly hotRatio: number
}

/** Linux counts in ticks of 10 ms on every architecture that Node runs on. */
const MS_PER_TICK = 10

/** Reads what Postgres has used: differences of two readings are what was measured between them. */
export class PostgresMeter {
  readonly #pid: number
  readonly #sql: Sql

  /** `sql`: a connection of the bench's own, which does nothing else while something is measured. */
  constructor(postmasterPid: number, sql: Sql) {
    this.#pid = postmasterPid
    this.#sql = sql
  }

  async read(): Promise<PostgresReading> {
    const [row] = await this.#sql<[{ bytes: string }]>`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`
    return { walBytes: Number(row.bytes), cpuMs: cpuMsOfServer(this.#pid) }
  }
}

export function difference(before: PostgresReading, after: PostgresReading): PostgresReading {
  return { walBytes: after.walBytes - before.walBytes, cpuMs: after.cpuMs - before.cpuMs }
}

/** Of all tables of a database, queues among them. Backends report when they end, so their connections are closed first. */
export async function readTuples(sql: Sql): Promise<TupleFigures> {
  const [row] = await sql<[{ dead: string; updates: string; hot: string }]>`
    select coalesce(sum(n_dead_tup), 0) as dead, coalesce(sum(n_tup_upd), 0) as updates, coalesce(sum(n_tup_hot_upd), 0) as hot
    from pg_stat_user_tables`
  const updates = Number(row.updates)
  return { deadTuples: Number(row.dead), hotRatio: updates === 0 ? Number.NaN : Number(row.hot) / updates }
}

/**
 * All processes of the server: those that live, and, in the postmaster's own account of its children, those that have
 * ended meanwhile. So a system that opens and closes connections pays for it like any other.
 */
function cpuMsOfServer(postmasterPid: number): number {
  let cpuMs = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readStat(name)
    if (stat === undefined) continue
    if (Number(name) === postmasterPid) cpuMs += stat.endedMs
    else if (stat.parent === postmasterPid) cpuMs += stat.ownMs
  }
  return cpuMs
}

function readStat(pid: string): { parent: number; ownMs: number; endedMs: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may hold anything.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    return {
      parent: fields[1]!,
      ownMs: nanosecondsOf(pid) / 1e6 || (fields[11]! + fields[12]!) * MS_PER_TICK,
      endedMs: (fields[13]! + fields[14]!) * MS_PER_TICK,
    }
  } catch {
    return undefined
  }
}

/** Finer than ticks, where the kernel tells it: an idle backend uses less than a tick in many seconds. */
function nanosecondsOf(pid: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])
  } catch {
    return 0
  }
}
