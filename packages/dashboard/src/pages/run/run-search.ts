import * as z from 'zod/mini'
import { orLeftOut } from '../../search-params.ts'

/** What the address of a run holds: what of it is looked at. */
export const runSearch = z.object({
  step: orLeftOut(z.string().check(z.minLength(1), z.maxLength(128))),
  /** A task of the step. */
  task: orLeftOut(z.coerce.number().check(z.int(), z.minimum(0))),
})
