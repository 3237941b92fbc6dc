import * as z from 'zod/mini'
import { orLeftOut } from '../../search-params.ts'

/** How far back a history goes, in hours. */
export const RANGES = { '1h': 1, '6h': 6, '24h': 24, '7d': 168 } as const
export type Range = keyof typeof RANGES

/** What the address of a queue holds. */
export const queueSearch = z.object({
  range: orLeftOut(z.enum(['6h', '24h', '7d'])),
})
