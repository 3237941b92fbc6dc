import type { Json } from '@starflow/dsl'
import type { Sql } from 'postgres'
import type { TestDatabase } from '../../../../tests/support/test-database.ts'

/** A broadcast as its receivers get it. */
export interface SentEvent {
  readonly event: string
  readonly topic: string
  readonly private: boolean
  readonly payload: Record<string, Json>
}

/** From now on every run's events are sent and kept in the order in which they were sent. Call it before the first start. */
export async function recordEvents(database: TestDatabase): Promise<void> {
  // Neither ids nor times tell the order of two broadcasts of one transaction. The schema is the superuser's.
  const admin = database.as('supabase_admin', { connections: 1 })
  await admin`alter table realtime.messages add column if not exists sent_position bigint generated always as identity`
  await admin.end()
  await database.sql`select pgflow.set_setting('events', 'all')`
}

/** The recorded events of a run, in order. */
export async function sentEvents(sql: Sql, runId: string): Promise<SentEvent[]> {
  return await sql<SentEvent[]>`
    select event, topic, private, payload from realtime.messages
    where payload ->> 'run_id' = ${runId} order by sent_position`
}

/** Only the names of the recorded events of a run, in order. */
export async function sentEventNames(sql: Sql, runId: string): Promise<string[]> {
  return (await sentEvents(sql, runId)).map(({ event }) => event)
}
