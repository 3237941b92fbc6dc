import { z } from 'zod'

/** What the address of the queues holds. */
export const queuesSearch = z.object({
  /** In the name of queue, flow or step. */
  q: z.string().optional().catch(undefined),
  trouble: z.literal('only').optional().catch(undefined),
})
