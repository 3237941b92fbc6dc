import { Flow, type Json, unchecked } from '@starflow/dsl'
import { Engine, type EngineOptions } from '../../src/engine/engine.ts'
import type { RunExecution } from '../../src/engine/run-execution.ts'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import type { WaitHost, WaitWake } from '../../src/wait/enter-durable-wait.ts'
import { TTL_MS } from '../conformance/run-fixture.ts'

export const TOKEN_KEY = { kid: 'test', secret: 'a secret of at least thirty-two characters' }

/** Draft, wait for somebody to approve it, publish what they said. */
export const approval = new Flow<{ text: string }>({ slug: 'approval', baseDelay: 0 })
  .step({ slug: 'draft' }, ({ text }) => text.toUpperCase())
  .wait({ slug: 'approve', dependsOn: ['draft'], timeout: 3600, payload: unchecked<{ by: string }>() })
  .step({ slug: 'publish', dependsOn: ['draft', 'approve'] }, ({ draft, approve }) => `${draft} by ${approve.by}`)

/** Notes whom it told. */
export function waitHost(
  onWake: (wake: WaitWake) => Promise<void> | void = () => {},
): WaitHost & { wakes: WaitWake[] } {
  const wakes: WaitWake[] = []
  return {
    tokenKey: TOKEN_KEY,
    wakes,
    async emitWaitWake(wake) {
      await onWake(wake)
      wakes.push(wake)
    },
  }
}

/** Claims the next run and takes it up, as a runner does. */
export async function takeUp(
  adapter: QueueingStateAdapter,
  flow: Parameters<Engine['serve']>[0],
  options: Partial<EngineOptions> = {},
): Promise<RunExecution> {
  const engine = new Engine({ adapter, waitHost: waitHost(), ...options })
  const { definitionId } = await engine.serve(flow)
  const claimed = await adapter.claimNextQueuedRun({
    ...{ runnerId: engine.runnerId, leaseTtlMs: TTL_MS, definitionIds: [definitionId] },
  })
  if (claimed === null) throw new Error('There is no run to claim.')
  return await engine.open(flow, claimed)
}

export const payload: Json = { by: 'Ada' }
