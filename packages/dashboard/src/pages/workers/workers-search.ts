import * as z from 'zod/mini'
import { orLeftOut } from '../../search-params.ts'

/** What the address of the workers holds. */
export const workersSearch = z.object({
  /** In the name of function or queue. */
  q: orLeftOut(z.string()),
  /** Silent and stopped ones too. */
  show: orLeftOut(z.literal('all')),
})
