import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type AnyFlow, isFlow, isStepQueuedFlow, refuseForeignFlow } from '@starflow/dsl'
import { describeError, isStarflowError, StarflowError } from '@starflow/errors'
import { FLOWS_FOLDER, findFlowModules } from '../functions/flow-modules.ts'
import { loadProject, type Project } from './project.ts'

/**
 * The flows of these modules, each once, loaded into this process, which executes them; without modules those of the project's
 * folder `_flows`. A step-queued flow is the flow in it: on a runner it has no queues.
 *
 * @throws StarflowError SF611 for a module that cannot be loaded and for two flows with one slug, SF612 when no module exports a flow,
 * SF122 when one exports a flow of another library
 */
export async function loadFlows(modules: readonly string[]): Promise<readonly AnyFlow[]> {
  const files =
    modules.length > 0 ? modules.map((module) => resolve(module)) : findFlowModules(await loadProject(process.cwd()))
  const flows = await flowsOfFiles(files)
  if (flows.length > 0) return flows
  const names = files.map(shown).join(', ')
  throw new StarflowError({
    code: 'SF612',
    message: names === '' ? 'There is no flow to run.' : `There is no flow in ${names}.`,
    detail: `A module exports what \`new Flow\` or withStepQueues gives; without a module, those of the folder ${FLOWS_FOLDER} are taken.`,
    hint: 'Write `export const` before the flow, or name its module.',
  })
}

/**
 * All flows of a project, which may have none: a server then serves what others execute.
 *
 * @throws StarflowError SF611
 */
export async function loadProjectFlows(project: Project): Promise<readonly AnyFlow[]> {
  return await flowsOfFiles(findFlowModules(project))
}

async function flowsOfFiles(files: readonly string[]): Promise<readonly AnyFlow[]> {
  const bySlug = new Map<string, { readonly flow: AnyFlow; readonly file: string }>()
  for (const file of files) {
    for (const flow of Object.values(await loadModule(file)).flatMap((value) => flowOf(value, file))) {
      const other = bySlug.get(flow.slug.toLowerCase())
      if (other !== undefined && other.flow !== flow) throw sameSlug(other.flow.slug, flow.slug, [other.file, file])
      bySlug.set(flow.slug.toLowerCase(), { flow, file })
    }
  }
  return [...bySlug.values()].map(({ flow }) => flow)
}

async function loadModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (!existsSync(file)) {
    throw new StarflowError({
      code: 'SF611',
      message: `There is no file ${shown(file)}.`,
      detail: 'It was to be a module that exports a flow.',
      hint: 'Name the file from the folder you are in.',
    })
  }
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (cause) {
    const { message } = describeError(cause)
    throw new StarflowError({
      code: 'SF611',
      message: `The flow module ${shown(file)} cannot be loaded.`,
      detail: isStarflowError(cause)
        ? [`${cause.code}: ${message}`, cause.detail].filter((part) => part !== undefined).join('\n')
        : message,
      hint: (isStarflowError(cause) ? cause.hint : undefined) ?? 'Correct the file. It is loaded in Node, by itself.',
      cause,
    })
  }
}

/** Recognised by their brand: a module may bring its own copy of the package. */
function flowOf(value: unknown, file: string): AnyFlow[] {
  refuseForeignFlow(`${shown(file)} exports`, value)
  return isFlow(value) ? [value] : isStepQueuedFlow(value) ? [value.flow] : []
}

function sameSlug(first: string, slug: string, files: readonly string[]): StarflowError {
  return new StarflowError({
    code: 'SF611',
    message:
      first === slug ? `Two flows have the slug "${slug}".` : `The slugs "${first}" and "${slug}" differ in case only.`,
    detail: `They are exported by ${[...new Set(files.map(shown))].join(' and ')}.`,
    hint: 'A slug is one flow: give one of them another.',
    fields: { slug },
  })
}

function shown(file: string): string {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}
