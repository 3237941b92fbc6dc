import { extractFlowShape } from '@starflow/dsl'
import { z } from 'zod'
import type { FlowCatalog } from '../../runs/flow-catalog.ts'
import type { CompiledFlow, QueueOperations } from '../../runs/queue-operations.ts'
import type { Placement } from '../../runs/run-placement.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const flowView = z.object({
  flow: schema.slug,
  placements: z.array(schema.placement).describe('Where a run of it can be started; the first one is the default.'),
  queueMode: z.enum(['flow', 'step']).nullable().describe('Of a flow that is compiled: one queue, or one per step.'),
  isPaused: z.boolean().describe('True: its step queues give no work out.'),
  compiledAt: z.iso.datetime().nullable(),
  inputSchema: schema.json.describe('JSON Schema of the input; null where none is known.'),
  steps: z.array(
    z.object({
      step: schema.slug,
      type: z.enum(['single', 'map', 'wait']),
      dependsOn: z.array(schema.slug),
      queue: z.string().nullable(),
    }),
  ),
})

/** Flows that are compiled in the database, and those that this server was started with. */
export function flowEndpoints(catalog: FlowCatalog, operations: QueueOperations | undefined): Endpoint[] {
  return [
    endpoint({
      ...{ id: 'listFlows', method: 'get', path: '/api/flows', tag: 'Flows', access: 'caller' },
      summary: 'List the flows with their steps',
      answers: { 200: { description: 'Flows by slug.', schema: z.object({ flows: z.array(flowView) }) } },
      handle: async () => {
        const compiled = new Map((await operations?.compiledFlows())?.map((flow) => [flow.flow, flow]))
        const slugs = [...new Set([...compiled.keys(), ...catalog.flows.map((flow) => flow.slug)])].sort()
        return { status: 200, body: { flows: slugs.map((slug) => viewOf(slug, compiled.get(slug), catalog)) } }
      },
    }),
  ]
}

function viewOf(slug: string, compiled: CompiledFlow | undefined, catalog: FlowCatalog) {
  const loaded = catalog.find(slug)
  const shape = loaded && extractFlowShape(loaded)
  const placements: Placement[] = [
    ...(compiled === undefined ? [] : (['queue'] as const)),
    ...(loaded === undefined ? [] : (['runner'] as const)),
  ]
  return {
    flow: slug,
    placements,
    queueMode: compiled?.queueMode ?? null,
    isPaused: compiled?.isPaused ?? false,
    compiledAt: schema.iso(compiled?.compiledAt ?? null),
    inputSchema: compiled?.inputSchema ?? shape?.inputSchema ?? null,
    // As they are compiled, where they are: that is what runs on step queues follow.
    steps:
      compiled?.steps.map(({ type, queue, ...rest }) => ({ ...rest, type, queue: type === 'wait' ? null : queue })) ??
      shape?.steps.map((step) => ({
        ...{ step: step.slug, type: step.stepType, dependsOn: step.dependencies, queue: null },
      })),
  }
}
