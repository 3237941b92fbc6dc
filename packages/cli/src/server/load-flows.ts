import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type AnyFlow, Flow, isStepQueuedFlow, type StepQueuedFlow } from '@starflow/dsl'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { FLOWS_FOLDER, findFlowModules } from '../functions/flow-modules.ts'
import type { Project } from '../project/project.ts'

/**
 * Imports the flow modules of a project into this process, and gives the flows that they export, each once. Their handlers run
 * here: what a module imports has to be installed for Node.
 *
 * @throws StarflowError SF611 for a module that cannot be loaded, also for two flows with one slug
 */
export async function loadFlows(project: Project): Promise<AnyFlow[]> {
  const flows = new Map<string, { readonly flow: AnyFlow; readonly module: string }>()
  for (const path of findFlowModules(project)) {
    const module = relative(project.root, path)
    for (const flow of flowsOf(await load(path, module))) {
      const other = flows.get(flow.slug)
      if (other !== undefined && other.flow !== flow) throw sameSlug(flow.slug, [other.module, module])
      flows.set(flow.slug, { flow, module })
    }
  }
  return [...flows.values()].map(({ flow }) => flow)
}

async function load(path: string, module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    const { message, code, detail, hint } = cause as { message?: string; code?: string; detail?: string; hint?: string }
    throw new StarflowError({
      code: 'SF611',
      message: `The flow module ${module} cannot be loaded.`,
      detail: [isStarflowError(cause) ? `${code}: ${message}` : (message ?? String(cause)), detail]
        .filter((part) => part !== undefined)
        .join('\n'),
      hint:
        hint ??
        `A runner imports it into Node: every package that it names must be installed here. Nothing was started.`,
      fields: { module },
      cause,
    })
  }
}

function flowsOf(exports: Record<string, unknown>): AnyFlow[] {
  return Object.values(exports).flatMap((value) => {
    if (isFlow(value)) return [value]
    return isQueued(value) ? [value.flow] : []
  })
}

/** A project may bring a copy of the package of its own. */
function isFlow(value: unknown): value is AnyFlow {
  if (value instanceof Flow) return true
  const { slug, stepOrder, getStepDefinition } = (value ?? {}) as Record<string, unknown>
  return typeof slug === 'string' && Array.isArray(stepOrder) && typeof getStepDefinition === 'function'
}

function isQueued(value: unknown): value is StepQueuedFlow<AnyFlow> {
  return isStepQueuedFlow(value as never)
}

function sameSlug(slug: string, modules: readonly string[]): StarflowError {
  return new StarflowError({
    code: 'SF611',
    message: `Two flows have the slug "${slug}".`,
    detail: `They are exported by ${modules.join(' and ')}.`,
    hint: `A slug is one flow: give one of them another, in ${FLOWS_FOLDER}.`,
    fields: { slug, modules },
  })
}
