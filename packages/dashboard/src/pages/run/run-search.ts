import { z } from 'zod'

/** What the address of a run holds: what of it is looked at. */
export const runSearch = z.object({
  step: z.string().min(1).max(128).optional().catch(undefined),
  /** A task of the step. */
  task: z.coerce.number().int().min(0).optional().catch(undefined),
})
