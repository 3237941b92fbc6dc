import type { Sql } from '../database/sql.ts'
import { FENCED_COLUMNS, type FencedFunction } from './fenced-function.ts'

/** The fence of somebody who is at work, which nobody else takes or lifts until it is over. */
export interface FenceHold {
  readonly holdId: string
  readonly functionNames: readonly string[]
  /** The fence's name. The same name goes on where one that was killed has stopped. */
  readonly fencedBy: string
  /** Who is at work, for those who are refused. */
  readonly heldBy: string
}

/** One that is not over, by the database's clock. */
export interface LivingHold {
  readonly holdId: string
  readonly heldBy: string
  readonly heldUntil: Date
}

/** Raises the fence, or keeps it, and holds it. Refused by name: SF632 who is at work, SF421 somebody else's fence. */
export async function holdFence(sql: Sql, hold: FenceHold, forMs: number): Promise<FencedFunction[]> {
  const { functionNames, fencedBy, heldBy, holdId } = hold
  return await sql.unsafe<FencedFunction[]>(
    `select ${FENCED_COLUMNS} from pgflow.hold_fence($1, $2, $3, $4, $5::interval)`,
    [functionNames, fencedBy, heldBy, holdId, interval(forMs)],
  )
}

/** Prolongs it. Of how many functions it still is; the others somebody has taken or lifted. */
export async function keepFenceHold(sql: Sql, holdId: string, forMs: number): Promise<number> {
  const [row] = await sql<[{ kept: number }]>`
    select pgflow.keep_fence_hold(${holdId}, ${interval(forMs)}::interval) as kept`
  return row.kept
}

/** Lifts the fence of the functions that it still holds, and returns those. */
export async function endFenceHold(sql: Sql, holdId: string): Promise<FencedFunction[]> {
  return await sql.unsafe<FencedFunction[]>(`select ${FENCED_COLUMNS} from pgflow.end_fence_hold($1)`, [holdId])
}

/** Who is at work on these functions. */
export async function livingHolds(sql: Sql, names: readonly string[]): Promise<LivingHold[]> {
  return await sql<LivingHold[]>`
    select hold_id as "holdId", held_by as "heldBy", max(held_until) as "heldUntil" from pgflow.fence_holds
    where function_name = any (${[...names]}) and held_until > pgflow.clock() group by hold_id, held_by order by held_by`
}

const interval = (ms: number) => `${ms} milliseconds`
