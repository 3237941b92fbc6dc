import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from 'postgres'

/** Waits until a connection of this application name waits for a lock, so that an order of events is seen, not hoped for. */
export async function untilBlocked(sql: Sql, applicationName: string): Promise<void> {
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const rows = await sql`
      select from pg_stat_activity where datname = current_database() and application_name = ${applicationName}
      and wait_event_type = 'Lock'`
    if (rows.length > 0) return
    await pause(5)
  }
  throw new Error(`${applicationName} never waited for a lock.`)
}
