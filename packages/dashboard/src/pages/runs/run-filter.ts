import { z } from 'zod'

export const RUN_STATUSES = ['queued', 'running', 'paused', 'success', 'error', 'cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** How far back a list goes, and how that is said. */
export const SINCE = {
  '15m': { title: 'last 15 minutes', ms: 15 * 60_000 },
  '1h': { title: 'last hour', ms: 60 * 60_000 },
  '24h': { title: 'last 24 hours', ms: 24 * 60 * 60_000 },
  '7d': { title: 'last 7 days', ms: 7 * 24 * 60 * 60_000 },
} as const
export type Since = keyof typeof SINCE

const statuses = z.union([
  z.enum(RUN_STATUSES).transform((status) => [status]),
  z.array(z.enum(RUN_STATUSES)).nonempty(),
])
const instant = z.iso.datetime({ offset: true })

/** Which runs a list shows, as the address says it. What it says wrongly is left out. */
export const runFilterSchema = z.object({
  flow: z.string().min(1).max(128).optional().catch(undefined),
  status: statuses.optional().catch(undefined),
  /** The beginning of an id, or a part of a flow's slug or of an error. */
  q: z.string().trim().min(1).max(200).optional().catch(undefined),
  since: z
    .enum(Object.keys(SINCE) as [Since, ...Since[]])
    .optional()
    .catch(undefined),
  from: instant.optional().catch(undefined),
  until: instant.optional().catch(undefined),
  placement: z.enum(['queue', 'runner']).optional().catch(undefined),
  env: z.string().min(1).max(64).optional().catch(undefined),
})
export type RunFilter = z.output<typeof runFilterSchema>

/** Whether anything is left out of the list. */
export function isFiltered(filter: RunFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

/** From when on runs are shown: what is said in so many words, else so long before now. */
export function filterStart(filter: RunFilter, nowMs: number): string | undefined {
  if (filter.from !== undefined) return filter.from
  return filter.since === undefined ? undefined : new Date(nowMs - SINCE[filter.since].ms).toISOString()
}
