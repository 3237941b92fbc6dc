import type { Sql } from '../database/sql.ts'

/** What is left of one concrete flow. */
export interface VersionDrain {
  readonly flowSlug: string
  readonly queueMode: string
  readonly openRuns: number
  /** Durable waits of theirs that stand open: only a resume or their timeout ends those. */
  readonly openWaits: number
  readonly oldestOpenRunAt: Date | null
  readonly liveWorkers: number
}

/** Reads what is left of all concrete flows, or of one. */
export async function readVersionDrain(sql: Sql, flowSlug?: string): Promise<VersionDrain[]> {
  return await sql<VersionDrain[]>`
    select flow_slug as "flowSlug", queue_mode as "queueMode", open_runs::integer as "openRuns",
           open_waits::integer as "openWaits",
           oldest_open_run_at as "oldestOpenRunAt", live_workers::integer as "liveWorkers"
    from pgflow.version_drain
    where ${flowSlug ?? null}::text is null or flow_slug = ${flowSlug ?? null}
    order by flow_slug`
}
