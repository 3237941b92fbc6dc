import { z } from 'zod'

/** What the address of a flow holds. */
export const flowSearch = z.object({
  step: z.string().min(1).max(128).optional().catch(undefined),
  /** A run whose input the next one starts with, until it is changed. */
  from: z.uuid().optional().catch(undefined),
})
