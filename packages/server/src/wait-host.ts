import type { WaitHost, WaitTokenKey } from '@starflow/engine'
import type { ServerLog } from './log.ts'

/** Told of waits that open: somebody has to learn that a decision is due. */
export type WaitListener = WaitHost['emitWaitWake']

/**
 * The host of waits on this process's runners; undefined without a key to sign their tokens. Nobody but the listeners is given
 * a token: the inbox of the API shows open waits without one.
 */
export function createWaitHost(
  keys: readonly WaitTokenKey[],
  listeners: readonly WaitListener[],
  log: ServerLog,
): WaitHost | undefined {
  const [tokenKey] = keys
  if (tokenKey === undefined) return undefined
  return {
    tokenKey,
    emitWaitWake: async (wake) => {
      log.info(
        { runId: wake.runId, flow: wake.flowSlug, step: wake.nodeId, workspace: wake.workspaceId },
        'a run waits',
      )
      for (const listener of listeners) await listener(wake)
    },
  }
}
