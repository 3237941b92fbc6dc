import * as z from 'zod/mini'
import { orLeftOut } from '../../search-params.ts'

/** What the address of the queues holds. */
export const queuesSearch = z.object({
  /** In the name of queue, flow or step. */
  q: orLeftOut(z.string()),
  trouble: orLeftOut(z.literal('only')),
})
