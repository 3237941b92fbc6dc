import { z } from 'zod'

/** What the address of a flow holds. */
export const flowSearch = z.object({
  step: z.string().min(1).max(128).optional().catch(undefined),
  /** A run whose input the next one starts with, until it is changed. */
  from: z.uuid().optional().catch(undefined),
})

/** What the address of the flows holds. */
export const flowsSearch = z.object({
  /** In the slug of a flow or step. */
  q: z.string().optional().catch(undefined),
})
