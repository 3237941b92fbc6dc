import type { Sql } from '@starflow/core'
import { answerWithin } from '../database/answer-within.ts'

/** The connection may have been lost while it was deployed. */
const FORGET_WITHIN_MS = 5000

/**
 * A function whose first deploy failed would be pinged without end. Never rejects: what the deploy
 * failed with is what counts.
 */
export async function forgetUnseen(
  sql: Sql,
  names: readonly string[],
  {
    withinMs = FORGET_WITHIN_MS,
    onFailure,
  }: { readonly withinMs?: number; readonly onFailure: (text: string) => void },
): Promise<void> {
  if (names.length === 0) return
  try {
    await answerWithin(withinMs, forget(sql, names))
  } catch (error) {
    onFailure(`${names.join(', ')} could not be forgotten: ${error instanceof Error ? error.message : error}`)
  }
}

async function forget(sql: Sql, names: readonly string[]): Promise<void> {
  await sql`
    delete from pgflow.worker_functions f
    where f.function_name = any (${[...names]}) and f.fenced_at is null
      and not exists (select from pgflow.worker_function_queues q where q.function_name = f.function_name)`
}
