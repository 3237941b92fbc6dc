import type { Json, StepType } from '@starflow/dsl'
import type { Sql } from '../database/sql.ts'

/** A flow as it is compiled: what is needed to show it and to start a run. */
export interface CompiledFlow {
  readonly flow: string
  readonly queueMode: 'flow' | 'step'
  /** When its intake was paused; null: it is not. */
  readonly pausedAt: Date | null
  readonly compiledAt: Date
  readonly inputSchema: Json
  /** Open runs, counted up to 100 000 over all flows. */
  readonly openRuns: number
  readonly openWaits: number
  readonly oldestOpenRunAt: Date | null
  readonly liveWorkers: number
  readonly steps: readonly CompiledStep[]
}

/** Its options are those that apply: its own, or the flow's. */
export interface CompiledStep {
  readonly step: string
  readonly type: StepType
  readonly dependsOn: readonly string[]
  /** Null of a wait. */
  readonly queue: string | null
  readonly maxAttempts: number | null
  readonly baseDelaySeconds: number | null
  readonly maxDelaySeconds: number | null
  readonly timeoutSeconds: number | null
  readonly startDelaySeconds: number | null
  readonly if: Json
  readonly ifNot: Json
  readonly whenUnmet: string
  readonly whenExhausted: string
}

/** A pg_cron job that starts runs of a flow. */
export interface FlowSchedule {
  readonly name: string
  readonly schedule: string
  readonly flow: string
  readonly isActive: boolean
}

export async function readCompiledFlows(sql: Sql): Promise<CompiledFlow[]> {
  return await sql<CompiledFlow[]>`
    with open as (
      select r.flow_slug, count(*)::integer as runs, min(r.started_at) as oldest
      from (select flow_slug, started_at from pgflow.runs where status = 'started' limit 100000) r group by r.flow_slug
    ), waits as (
      select w.flow_slug, count(*)::integer as waits from (select flow_slug from pgflow.open_waits limit 100000) w group by w.flow_slug
    )
    select f.flow_slug as flow, f.queue_mode as "queueMode", f.paused_at as "pausedAt", f.compiled_at as "compiledAt",
           f.input_schema as "inputSchema", coalesce(o.runs, 0) as "openRuns", coalesce(w.waits, 0) as "openWaits", o.oldest as "oldestOpenRunAt",
           (select count(*)::integer from pgflow.workers w
            where w.stopped_at is null and w.deprecated_at is null and pgflow._heartbeat_is_fresh(w)
              and lower(w.queue_name) in (select s.queue_name from pgflow._routes s where s.flow_slug = f.flow_slug)) as "liveWorkers",
           (select coalesce(jsonb_agg(jsonb_build_object(
              'step', s.step_slug, 'type', s.step_type, 'queue', case when s.step_type <> 'wait' then s.queue_name end,
              'dependsOn', array(select d.dep_slug from pgflow.deps d where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug
                                 order by d.dep_slug),
              'maxAttempts', case when s.step_type <> 'wait' then coalesce(s.opt_max_attempts, f.opt_max_attempts) end,
              'baseDelaySeconds', case when s.step_type <> 'wait' then coalesce(s.opt_base_delay, f.opt_base_delay) end,
              'maxDelaySeconds', case when s.step_type <> 'wait' then coalesce(s.opt_max_delay, f.opt_max_delay) end,
              'timeoutSeconds', case when s.step_type = 'wait' then s.opt_timeout else coalesce(s.opt_timeout, f.opt_timeout) end,
              'startDelaySeconds', s.opt_start_delay, 'if', s.required_input_pattern, 'ifNot', s.forbidden_input_pattern,
              'whenUnmet', s.when_unmet, 'whenExhausted', s.when_exhausted)
              order by s.step_index), '[]') from pgflow.steps s where s.flow_slug = f.flow_slug) as steps
    from pgflow.flows f left join open o on o.flow_slug = f.flow_slug left join waits w on w.flow_slug = f.flow_slug
    order by f.flow_slug`
}

export async function readFlowSchedules(sql: Sql): Promise<FlowSchedule[]> {
  return await sql<FlowSchedule[]>`
    select job_name as name, schedule, flow_slug as flow, is_active as "isActive" from starflow.flow_schedules()`
}

/** Nothing of the flow is given out from now on, or again. @throws StarflowError SF201 */
export async function setFlowPaused(sql: Sql, flowSlug: string, isPaused: boolean): Promise<void> {
  if (isPaused) await sql`select pgflow.pause_flow(${flowSlug})`
  else await sql`select pgflow.resume_flow(${flowSlug})`
}

/** What the versions of one flow have in common: their slug without the number at its end. */
export function flowFamily(flowSlug: string): { readonly family: string; readonly version: number | null } {
  const [, family, version] = /^(.*?[A-Za-z])_?[Vv](\d{1,9})$/.exec(flowSlug) ?? []
  if (family === undefined) return { family: flowSlug, version: null }
  return { family, version: Number(version) }
}
