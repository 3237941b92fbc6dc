/**
 * Runs in Deno, never in Node: it is copied beside the functions so that it sees their deno.json, imports each flow
 * module named on its command line and prints what it exports. Only `node:` built-ins, no import of ours: the flows bring
 * their own copy of @starflow/dsl, and are recognised by its brand.
 *
 * argv: a mark that its line of output begins with, then the absolute paths of the modules.
 */
import { pathToFileURL } from 'node:url'

interface FlowLike {
  readonly slug: string
  readonly stepOrder: readonly string[]
  readonly getStepDefinition: (slug: string) => { readonly handler?: unknown }
}

interface StepQueuedLike {
  readonly flow: FlowLike
  readonly routes: readonly { stepSlug: string; queueName: string }[]
}

interface WorkerDefinitionLike {
  readonly flow: StepQueuedLike
  readonly settings: Readonly<
    Record<string, { readonly instances?: number; readonly maxPgConnections?: number } | undefined>
  >
}

const [mark = '', ...paths] = process.argv.slice(2)
console.log(mark + JSON.stringify(await Promise.all(paths.map(evaluate))))

async function evaluate(path: string) {
  try {
    const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>
    const flows = distinctExports(module).flatMap<object>(([name, value]) => describe(name, value, module))
    return { path, flows, foreign: foreignFlowsOf(module) }
  } catch (error) {
    const { name, message, stack, code, detail, hint } = error as Record<string, unknown>
    return { path, error: { name, message: String(message ?? error), stack, code, detail, hint } }
  }
}

function describe(exportName: string, value: unknown, module: Record<string, unknown>) {
  if (isStepQueued(value)) {
    const routes = value.routes.map(({ stepSlug, queueName }) => ({ stepSlug, queueName }))
    return [{ exportName, flowSlug: value.flow.slug, routes, workers: workersOf(value, module) }]
  }
  if (isFlow(value)) return [{ exportName, flowSlug: value.slug, runnerSteps: runnerStepsOf(value) }]
  return []
}

/** The steps that step queues cannot run: their handlers say so. */
function runnerStepsOf(flow: FlowLike) {
  return flow.stepOrder.filter((slug) => {
    const handler = flow.getStepDefinition(slug).handler as Record<symbol, unknown> | undefined
    return handler?.[Symbol.for('starflow.runnerHandler')] === true
  })
}

/** The exports that look like flows and were not made by @starflow/dsl, with the names of their classes. */
function foreignFlowsOf(module: Record<string, unknown>) {
  return Object.values(module).flatMap((value) => {
    const flow = isRecord(value) && Array.isArray(value.routes) ? value.flow : value
    const looksLikeFlow = isRecord(flow) && typeof flow.slug === 'string' && Array.isArray(flow.stepOrder)
    return looksLikeFlow && !isFlow(flow) ? [{ flowSlug: flow.slug as string, className: flow.constructor?.name }] : []
  })
}

/**
 * The exports, each value once: under its own name rather than as `default`. A plain flow that is also exported wrapped is
 * left out: its steps have workers of their own, and it needs no second one.
 */
function distinctExports(module: Record<string, unknown>) {
  const wrapped = Object.values(module).flatMap((value) => (isStepQueued(value) ? [value.flow] : []))
  const entries = Object.entries(module).sort(
    ([left], [right]) => Number(left === 'default') - Number(right === 'default'),
  )
  return entries.filter(
    ([, value], at) => entries.findIndex(([, other]) => other === value) === at && !wrapped.includes(value as FlowLike),
  )
}

/** The export that defineWorkers made for this flow, and how many instances and connections each step asks for. */
function workersOf(flow: StepQueuedLike, module: Record<string, unknown>) {
  const found = Object.entries(module).find(
    ([name, value]) => name !== 'default' && isWorkerDefinition(value) && value.flow === flow,
  )
  if (found === undefined) return undefined
  const [exportName, definition] = found as [string, WorkerDefinitionLike]
  const instances = Object.entries(definition.settings).map(([stepSlug, step]) => [stepSlug, step?.instances ?? 1])
  const connections = Object.entries(definition.settings).flatMap(([stepSlug, step]) =>
    step?.maxPgConnections === undefined ? [] : [[stepSlug, step.maxPgConnections]],
  )
  return {
    exportName,
    instances: Object.fromEntries(instances) as Record<string, number>,
    connections: Object.fromEntries(connections) as Record<string, number>,
  }
}

function isWorkerDefinition(value: unknown): value is WorkerDefinitionLike {
  return isRecord(value) && isStepQueued(value.flow) && isRecord(value.settings)
}

function isStepQueued(value: unknown): value is StepQueuedLike {
  return isRecord(value) && value[Symbol.for('starflow.stepQueuedFlow')] === true && isFlow(value.flow)
}

function isFlow(value: unknown): value is FlowLike {
  return isRecord(value) && value[Symbol.for('starflow.flow')] === true
}

function isRecord(value: unknown): value is Record<string | symbol, unknown> {
  return typeof value === 'object' && value !== null
}
