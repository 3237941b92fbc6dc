import * as z from 'zod/mini'
import { orLeftOut } from '../../search-params.ts'

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
  z.pipe(
    z.enum(RUN_STATUSES),
    z.transform((status) => [status]),
  ),
  z.array(z.enum(RUN_STATUSES)).check(z.minLength(1)),
])
const instant = z.iso.datetime({ offset: true })

/** Which runs a list shows, as the address says it. What it says wrongly is left out. */
export const runFilterSchema = z.object({
  flow: orLeftOut(z.string().check(z.minLength(1), z.maxLength(128))),
  status: orLeftOut(statuses),
  /** The beginning of an id, or a part of a flow's slug or of an error. */
  q: orLeftOut(z.string().check(z.trim(), z.minLength(1), z.maxLength(200))),
  since: orLeftOut(z.enum(Object.keys(SINCE) as [Since, ...Since[]])),
  from: orLeftOut(instant),
  until: orLeftOut(instant),
  placement: orLeftOut(z.enum(['queue', 'runner'])),
  env: orLeftOut(z.string().check(z.minLength(1), z.maxLength(64))),
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
