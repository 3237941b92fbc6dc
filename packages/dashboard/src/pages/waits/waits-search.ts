import { z } from 'zod'

/** What the address of the waits holds. */
export const waitsSearch = z.object({
  /** The wait that is being decided: run id and step, with a dot between. */
  open: z.string().max(200).optional().catch(undefined),
})
