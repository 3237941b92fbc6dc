import type { Sql } from '@starflow/core'
import { StarflowError } from '@starflow/errors'

/**
 * The worker functions that a command names: some by name, or all of a flow.
 *
 * @throws StarflowError SF610 neither or both, SF201 no such flow, SF422 a flow without any
 */
export async function workerFunctionSet(sql: Sql, names: readonly string[], flowSlug?: string): Promise<string[]> {
  if (names.length > 0 === (flowSlug !== undefined)) throw notNamed(names.length > 0)
  if (flowSlug === undefined) return [...new Set(names)].sort()
  await requireFlow(sql, flowSlug)
  const functions = await functionsOfFlow(sql, flowSlug)
  if (functions.length > 0) return functions
  throw new StarflowError({
    code: 'SF422',
    message: `Flow "${flowSlug}" has no worker function.`,
    detail: 'None has registered for one of its queues, and none is known under the name of one.',
    hint: 'Deploy them: npx starflow deploy',
    fields: { flowSlug },
  })
}

/** The complete set, also of functions that have not come up yet. Sorted. */
export async function functionsOfFlow(sql: Sql, flowSlug: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select pgflow.flow_worker_functions(${flowSlug}) as name`
  return rows.map((row) => row.name)
}

/** @throws StarflowError SF201 */
export async function requireFlow(sql: Sql, flowSlug: string): Promise<void> {
  const rows = await sql<{ slug: string }[]>`select flow_slug as slug from pgflow.flows order by flow_slug`
  if (rows.some((row) => row.slug === flowSlug)) return
  throw new StarflowError({
    code: 'SF201',
    message: `Flow "${flowSlug}" does not exist in this database.`,
    detail: rows.length === 0 ? 'It has no flow at all.' : `It has: ${rows.map((row) => row.slug).join(', ')}.`,
    hint: 'Check the spelling (capitals count); a flow exists once one of its workers has started.',
    fields: { flowSlug },
  })
}

function notNamed(isBoth: boolean): StarflowError {
  return new StarflowError({
    code: 'SF610',
    message: isBoth ? 'Names and --flow were both given.' : 'No worker function was named.',
    detail: 'A command takes either the names of worker functions or --flow with the slug of a flow.',
    hint: 'For example: --flow ordersV1. The names are listed by: npx starflow functions list',
  })
}
