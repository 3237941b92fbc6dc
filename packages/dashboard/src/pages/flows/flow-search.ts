import * as z from 'zod/mini'
import { orLeftOut } from '../../search-params.ts'

/** What the address of a flow holds. */
export const flowSearch = z.object({
  step: orLeftOut(z.string().check(z.minLength(1), z.maxLength(128))),
  /** A run whose input the next one starts with, until it is changed. */
  from: orLeftOut(z.uuid()),
})

/** What the address of the flows holds. */
export const flowsSearch = z.object({
  /** In the slug of a flow or step. */
  q: orLeftOut(z.string()),
})
