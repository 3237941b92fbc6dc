import { type CompiledFlow, type FlowSchedule, flowFamily } from '@starflow/core/operations'
import { extractFlowShape, type FlowShape, type StepShape } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { z } from 'zod'
import type { FlowCatalog } from '../../runs/flow-catalog.ts'
import type { QueueOperations } from '../../runs/queue-operations.ts'
import type { Placement } from '../../runs/run-placement.ts'
import type { Declarations } from '../../triggers/declarations.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const instant = z.iso.datetime()
const seconds = z.int().nullable()

const stepView = z.object({
  step: schema.slug,
  type: z.enum(['single', 'map', 'wait']),
  dependsOn: z.array(schema.slug),
  queue: z.string().nullable().describe('Its route; null of a wait, and of a flow that is not compiled.'),
  options: z
    .object({
      maxAttempts: z.int().nullable(),
      baseDelaySeconds: seconds,
      maxDelaySeconds: seconds,
      timeoutSeconds: seconds,
      startDelaySeconds: seconds,
    })
    .describe('As they apply, its own or those of the flow; null: the default, or none.'),
  condition: z
    .object({ if: schema.json, ifNot: schema.json, whenUnmet: z.enum(['fail', 'skip', 'skip-cascade']) })
    .nullable()
    .describe('On what its outputs must, or must not, contain; null: it has none.'),
  whenExhausted: z.enum(['fail', 'skip', 'skip-cascade']),
})

const flowView = z.object({
  flow: schema.slug,
  family: z.string().describe('What the versions of one flow have in common: the slug without the number at its end.'),
  version: z.int().nullable(),
  placements: z.array(schema.placement).describe('Where a run of it can be started; the first one is the default.'),
  queueMode: z.enum(['flow', 'step']).nullable().describe('Of a flow that is compiled: one queue, or one per step.'),
  isPaused: z.boolean().describe('True: its step queues give no work out.'),
  pausedAt: instant.nullable(),
  compiledAt: instant.nullable(),
  inputSchema: schema.json.describe('JSON Schema of the input; null where none is known.'),
  drain: z
    .object({
      openRuns: z.int(),
      openWaits: z.int(),
      oldestOpenRunAt: instant.nullable(),
      liveWorkers: z.int(),
      isDrained: z.boolean().describe('None of its runs is open: what serves it may go once nothing starts it.'),
    })
    .nullable()
    .describe('What is left of it on step queues; null of a flow that is not compiled, and for a workspace.'),
  schedules: z
    .array(
      z.object({
        source: z.enum(['pg_cron', 'trigger']).describe('A job of the database, or a trigger of starflow.yaml.'),
        name: z.string(),
        schedule: z.string(),
        timeZone: z.string().nullable().describe('Of a trigger; a job goes by the clock of the database.'),
        isActive: z.boolean(),
      }),
    )
    .describe('Told to the operator only.'),
  steps: z.array(stepView),
})

const flowParams = z.object({ flow: schema.slug.describe('The slug of the flow.') })
const paused = {
  200: { description: 'Whether it is paused now.', schema: z.object({ flow: schema.slug, isPaused: z.boolean() }) },
}

/** Flows that are compiled in the database, and those that this server was started with. */
export function flowEndpoints(
  catalog: FlowCatalog,
  operations: QueueOperations | undefined,
  triggers: Declarations['triggers'],
): Endpoint[] {
  const tag = 'Flows'
  const setPaused = async (flow: string, isPaused: boolean) => {
    if (operations === undefined) throw notCompiled(flow)
    await operations.setPaused(flow, isPaused)
    return { status: 200, body: { flow, isPaused } }
  }
  return [
    endpoint({
      ...{ id: 'listFlows', method: 'get', path: '/api/flows', tag, access: 'caller' },
      summary: 'List the flows with their steps, versions and schedules',
      answers: { 200: { description: 'Flows by slug.', schema: z.object({ flows: z.array(flowView) }) } },
      handle: async ({ caller }) => {
        const [flows = [], schedules = []] = await Promise.all([operations?.compiledFlows(), operations?.schedules()])
        const compiled = new Map(flows.map((flow) => [flow.flow, flow]))
        const slugs = [...new Set([...compiled.keys(), ...catalog.flows.map((flow) => flow.slug)])].sort()
        return {
          status: 200,
          body: {
            flows: slugs
              .map((slug) => viewOf(slug, compiled.get(slug), catalog, { schedules, triggers }))
              // Open runs, workers and schedules are of all workspaces.
              .map((flow) => (caller?.kind === 'operator' ? flow : { ...flow, drain: null, schedules: [] })),
          },
        }
      },
    }),
    endpoint({
      ...{ id: 'pauseFlow', method: 'post', path: '/api/flows/{flow}/pause', tag, access: 'operator' },
      summary: 'Give out no work of a flow from its step queues',
      description: 'What has begun is finished, and runs can be started: their work waits. Twice is fine.',
      params: flowParams,
      body: z.strictObject({}),
      answers: paused,
      errors: ['SF201'],
      handle: ({ params }) => setPaused(params.flow, true),
    }),
    endpoint({
      ...{ id: 'resumeFlow', method: 'post', path: '/api/flows/{flow}/resume', tag, access: 'operator' },
      summary: 'Give out the work of a flow again',
      params: flowParams,
      body: z.strictObject({}),
      answers: paused,
      errors: ['SF201'],
      handle: ({ params }) => setPaused(params.flow, false),
    }),
  ]
}

interface Schedules {
  readonly schedules: readonly FlowSchedule[]
  readonly triggers: Declarations['triggers']
}

function viewOf(
  slug: string,
  compiled: CompiledFlow | undefined,
  catalog: FlowCatalog,
  { schedules, triggers }: Schedules,
) {
  const loaded = catalog.find(slug)
  const shape = loaded && extractFlowShape(loaded)
  const placements: Placement[] = [
    ...(compiled === undefined ? [] : (['queue'] as const)),
    ...(loaded === undefined ? [] : (['runner'] as const)),
  ]
  return {
    flow: slug,
    ...flowFamily(slug),
    placements,
    queueMode: compiled?.queueMode ?? null,
    isPaused: compiled !== undefined && compiled.pausedAt !== null,
    pausedAt: schema.iso(compiled?.pausedAt ?? null),
    compiledAt: schema.iso(compiled?.compiledAt ?? null),
    inputSchema: compiled?.inputSchema ?? shape?.inputSchema ?? null,
    drain: compiled === undefined ? null : drainOf(compiled),
    schedules: [
      ...schedules.filter(({ flow }) => flow === slug).map(({ flow, ...job }) => ({ ...job, ...OF_THE_DATABASE })),
      ...Object.entries(triggers)
        .filter(([, { flow }]) => flow === slug)
        .map(([name, { cron, timeZone }]) => ({
          ...{ source: 'trigger' as const, name, schedule: cron, timeZone, isActive: true },
        })),
    ],
    // As they are compiled, where they are: that is what runs on step queues follow.
    steps: compiled?.steps.map(compiledStep) ?? shape?.steps.map((step) => shapeStep(step, shape)) ?? [],
  }
}

const OF_THE_DATABASE = { source: 'pg_cron', timeZone: null } as const

function drainOf({ openRuns, openWaits, oldestOpenRunAt, liveWorkers }: CompiledFlow) {
  return {
    ...{ openRuns, openWaits, liveWorkers },
    oldestOpenRunAt: schema.iso(oldestOpenRunAt),
    isDrained: openRuns === 0,
  }
}

function compiledStep(step: CompiledFlow['steps'][number]) {
  const { maxAttempts, baseDelaySeconds, maxDelaySeconds, timeoutSeconds, startDelaySeconds } = step
  const hasCondition = step.if !== null || step.ifNot !== null
  return {
    ...{ step: step.step, type: step.type, dependsOn: [...step.dependsOn], queue: step.queue },
    options: { maxAttempts, baseDelaySeconds, maxDelaySeconds, timeoutSeconds, startDelaySeconds },
    condition: hasCondition ? { if: step.if, ifNot: step.ifNot, whenUnmet: step.whenUnmet } : null,
    whenExhausted: step.whenExhausted,
  }
}

function shapeStep(step: StepShape, shape: FlowShape) {
  const options = { ...(step.stepType === 'wait' ? {} : shape.options), ...step.options }
  const { requiredInputPattern: required, forbiddenInputPattern: forbidden, whenUnmet } = step
  return {
    ...{ step: step.slug, type: step.stepType, dependsOn: [...step.dependencies], queue: null },
    options: {
      maxAttempts: options.maxAttempts ?? null,
      baseDelaySeconds: options.baseDelay ?? null,
      maxDelaySeconds: options.maxDelay ?? null,
      timeoutSeconds: options.timeout ?? null,
      startDelaySeconds: step.options?.startDelay ?? null,
    },
    condition:
      required.defined || forbidden.defined
        ? {
            if: required.defined ? required.value : null,
            ifNot: forbidden.defined ? forbidden.value : null,
            whenUnmet,
          }
        : null,
    whenExhausted: step.whenExhausted,
  }
}

function notCompiled(flow: string): StarflowError {
  return new StarflowError({
    code: 'SF201',
    message: `Flow "${flow}" is not compiled in a database of this server.`,
    detail: 'Only step queues give work out that can be held back, and this server has none.',
    hint: 'Start the server with SUPABASE_URL, its key and SUPABASE_DB_URL.',
    fields: { flowSlug: flow },
  })
}
