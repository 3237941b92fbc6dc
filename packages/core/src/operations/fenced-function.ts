import type { Sql } from '../database/sql.ts'

/** What a fence recorded of one worker function. */
export interface FencedFunction {
  readonly functionName: string
  readonly enabled: boolean
  /** The value that restoring puts back; null where no fence is. */
  readonly enabledBeforeFence: boolean | null
  readonly fencedBy: string | null
  readonly fencedAt: Date | null
  readonly disabledReason: string | null
}

/** Raises the fence, or keeps it. Refused by name (SF421) where somebody else has fenced one of them. */
export async function fence(sql: Sql, names: readonly string[], by: string): Promise<FencedFunction[]> {
  return await sql.unsafe<FencedFunction[]>(`select ${FENCED_COLUMNS} from pgflow.fence_worker_functions($1, $2)`, [
    names,
    by,
  ])
}

/**
 * Puts back what the fence found. Twice is fine. Refused by name (SF632) while a rollout or deploy is at work on one of them,
 * unless by force.
 */
export async function restore(
  sql: Sql,
  names: readonly string[],
  { force = false }: { readonly force?: boolean } = {},
): Promise<FencedFunction[]> {
  return await sql.unsafe<FencedFunction[]>(`select ${FENCED_COLUMNS} from pgflow.restore_worker_functions($1, $2)`, [
    names,
    force,
  ])
}

/** Enables functions that were disabled by hand or by the halt policy; a fence stays. */
export async function enable(sql: Sql, names: readonly string[]): Promise<FencedFunction[]> {
  return await sql.unsafe<FencedFunction[]>(`select ${FENCED_COLUMNS} from pgflow.enable_worker_functions($1)`, [names])
}

/** The rows of these functions; of all, without names. */
export async function findFunctions(sql: Sql, names?: readonly string[]): Promise<FencedFunction[]> {
  return await sql.unsafe<FencedFunction[]>(
    `select ${FENCED_COLUMNS} from pgflow.worker_functions
     where $1::text[] is null or function_name = any ($1::text[]) order by function_name`,
    [names ?? null],
  )
}

/** The columns of a {@link FencedFunction}. */
export const FENCED_COLUMNS = `function_name as "functionName", enabled, enabled_before_fence as "enabledBeforeFence",
  fenced_by as "fencedBy", fenced_at as "fencedAt", disabled_reason as "disabledReason"`
