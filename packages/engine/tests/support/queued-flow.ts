import { randomUUID } from 'node:crypto'
import { type AnyFlow, extractFlowShape, type Json } from '@starflow/dsl'
import { shapeHash } from '../../src/definition.ts'
import type { EnqueueSpec, QueueingStateAdapter } from '../../src/state-adapter.ts'

/** Queues a run of a flow, as an edge does. */
export async function enqueueFlow(
  adapter: QueueingStateAdapter,
  flow: AnyFlow,
  input: Json,
  changes: Partial<EnqueueSpec> = {},
): Promise<string> {
  const shape = extractFlowShape(flow)
  const { definitionId } = await adapter.saveDefinition({
    ...{ flowSlug: flow.slug, shapeHash: await shapeHash(shape), shape },
  })
  const spec = { runId: randomUUID(), templateId: flow.slug, workspaceId: 'acme', env: 'prod', input, definitionId }
  return (await adapter.enqueueRun({ ...spec, ...changes })).runId
}
