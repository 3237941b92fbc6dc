import type { Sql } from 'postgres'

interface HandlerContext {
  readonly sql: Sql
  readonly stepTask: {
    readonly run_id: string
    readonly step_slug: string
    readonly task_index: number
    readonly attempt: number
  }
}

/** Notes that a handler was given an attempt; the output names it, so that the accepted one can be told. */
export async function handled({ sql, stepTask }: HandlerContext): Promise<{ attempt: number }> {
  const { run_id, step_slug, task_index, attempt } = stepTask
  await sql`insert into soak.handled (run_id, step_slug, task_index, attempt)
    values (${run_id}, ${step_slug}, ${task_index}, ${attempt})`
  return { attempt }
}
