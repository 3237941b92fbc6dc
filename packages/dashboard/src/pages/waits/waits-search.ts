import * as z from 'zod/mini'
import { orLeftOut } from '../../search-params.ts'

/** What the address of the waits holds. */
export const waitsSearch = z.object({
  /** The wait that is being decided: run id and step, with a dot between. */
  open: orLeftOut(z.string().check(z.maxLength(200))),
})
