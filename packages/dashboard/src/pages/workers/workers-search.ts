import { z } from 'zod'

/** What the address of the workers holds. */
export const workersSearch = z.object({
  /** In the name of function or queue. */
  q: z.string().optional().catch(undefined),
  /** Silent and stopped ones too. */
  show: z.literal('all').optional().catch(undefined),
})
