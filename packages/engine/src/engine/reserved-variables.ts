import { StarflowError } from '@starflow/errors'

/** Keys of `ctx.variables` and of checkpoints that begin like this are the engine's own. */
export const RESERVED_PREFIX = '__celestial'

/** The reserved keys there are. The engine may add to them without notice: the whole prefix is refused. */
export const RESERVED_VARIABLES = {
  __celestialWait: { owner: 'wait', purpose: 'The waits that a paused run stands in, in its checkpoint.' },
  __celestialCheckout: { owner: 'checkout', purpose: 'Path and ref of a working tree that was made for the run.' },
  __celestialLeases: { owner: 'runner', purpose: 'Leases of resources that the run holds.' },
  __celestialIdempotency: {
    owner: 'worker jobs',
    purpose: 'Begins the idempotency keys of worker jobs whose step gave none.',
  },
} as const satisfies Readonly<Record<`${typeof RESERVED_PREFIX}${string}`, { owner: string; purpose: string }>>

/** @throws StarflowError SF815 */
export function checkVariableKey(key: string): void {
  if (!key.startsWith(RESERVED_PREFIX)) return
  throw new StarflowError({
    code: 'SF815',
    message: `The variable ${JSON.stringify(key)} belongs to the engine.`,
    detail: `Keys that begin with ${RESERVED_PREFIX} are its own.`,
    hint: 'Choose another key.',
    fields: { key },
  })
}
