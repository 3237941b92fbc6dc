import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { StarflowError } from '@starflow/errors'
import type { Project } from '../project/project.ts'
import { denoConfigText } from './deno-config.ts'
import {
  type EvaluatedModules,
  type ExportedFlow,
  evaluateFlowModules,
  FLOWS_FOLDER,
  findFlowModules,
} from './flow-modules.ts'
import { needsOf, type ProjectNeeds } from './project-needs.ts'
import { withFunctionEntries } from './supabase-config.ts'
import { GENERATED_MARK, GROUPED_MARK, workerFunctionSource, workerFunctionsOf } from './worker-functions.ts'

/** One file that generation writes. */
export interface PlannedFile {
  readonly path: string
  readonly text: string
  /** What stands there now; undefined where there is no such file. */
  readonly found: string | undefined
}

/** What `functions generate` would do; nothing is changed until {@link applyGeneration}. */
export interface Generation {
  /** The slugs of all flows. */
  readonly flowSlugs: readonly string[]
  /** What the modules make and do not export; one sentence each. */
  readonly warnings: readonly string[]
  /** What the functions take of a plan and of a database. */
  readonly needs: ProjectNeeds
  /** Names of all worker functions, in the order of flows and steps. */
  readonly functions: readonly string[]
  /** Only files whose text changes. */
  readonly changed: readonly PlannedFile[]
  /** Names of generated functions that no flow needs any longer. */
  readonly obsolete: readonly string[]
}

/**
 * Inside the functions folder, to evaluate and to write before renaming; each with a name of its own, because a second
 * command may generate, check or deploy at the same time. Hidden: no deployment and no watcher looks in.
 */
const STAGING_PREFIX = '.starflow-generate-'
/** What a killed command left behind is removed by a later one; no living one takes as long. */
const STAGING_LEFT_AFTER_MS = 3_600_000
const GENERATED_FILES = ['index.ts', 'deno.json']

/** What the flow modules of a project export. Throws SF611 for a module that does not compile. */
export async function evaluateProject(project: Project): Promise<EvaluatedModules> {
  const modules = findFlowModules(project)
  if (modules.length === 0) return { flows: [], warnings: [] }
  return await withStaging(project, (staging) => {
    writeFileSync(join(staging, 'deno.json'), denoConfigText(project))
    return evaluateFlowModules(project, modules, staging)
  })
}

/**
 * Evaluates the flow modules and compares what they need with what is there. `grouped`: one function for all steps of a
 * flow, or one for each; by default a flow stays as it was generated before.
 * Throws SF611 for a module that does not compile, SF612 without any flow, SF613 where a person's own function has a
 * needed name, SF614 where two flows have one slug.
 */
export async function planGeneration(
  project: Project,
  options: { readonly grouped?: boolean | undefined } = {},
): Promise<Generation> {
  const modules = findFlowModules(project)
  const denoConfig = denoConfigText(project)
  const { flows, warnings } = await evaluateProject(project)
  if (flows.length === 0) throw noFlows(project, modules, warnings)
  const workerFunctions = workerFunctionsOf(flows, (flow) => options.grouped ?? isGroupedAlready(project, flow))
  const functions = workerFunctions.map((each) => each.name)
  const taken = functions.filter((name) => isTaken(project, name))
  if (taken.length > 0) throw foldersTaken(project, taken)
  const files = [
    ...workerFunctions.flatMap((each) => [
      plan(join(project.functionsDir, each.name, 'index.ts'), workerFunctionSource(each)),
      plan(join(project.functionsDir, each.name, 'deno.json'), denoConfig),
    ]),
    planConfig(project, functions),
  ]
  return {
    flowSlugs: flows.map(({ flowSlug }) => flowSlug),
    warnings,
    needs: await needsOf(flows, workerFunctions),
    functions,
    changed: files.filter((file) => file.text !== file.found),
    obsolete: findGeneratedFunctions(project.functionsDir).filter((name) => !functions.includes(name)),
  }
}

/**
 * Carries a plan out. Every text is first written beside its place and only then renamed, so that an interruption or a
 * full disk leaves whole files. Obsolete functions are removed: their generated files, and the folder once it is empty.
 */
export async function applyGeneration(project: Project, generation: Generation): Promise<void> {
  await withStaging(project, (staging) => {
    const staged = generation.changed.map((file, at) => ({
      // This one is a person's too, who may have edited it while it was asked whether to go on.
      file: file.path === configFile(project) ? planConfig(project, generation.functions) : file,
      from: join(staging, `${at}.staged`),
    }))
    for (const { file, from } of staged) writeFileSync(from, file.text)
    for (const { file, from } of staged) {
      mkdirSync(dirname(file.path), { recursive: true })
      renameSync(from, file.path)
    }
  })
  for (const name of generation.obsolete) {
    const folder = join(project.functionsDir, name)
    for (const file of GENERATED_FILES) rmSync(join(folder, file), { force: true })
    removeIfEmpty(folder)
  }
}

/** Names of the functions in a folder that were generated, sorted. */
export function findGeneratedFunctions(functionsDir: string): string[] {
  if (!existsSync(functionsDir)) return []
  return readdirSync(functionsDir, { withFileTypes: true })
    .filter(
      (entry) => entry.isDirectory() && read(join(functionsDir, entry.name, 'index.ts'))?.startsWith(GENERATED_MARK),
    )
    .map((entry) => entry.name)
    .sort()
}

async function withStaging<T>(project: Project, work: (folder: string) => T | Promise<T>): Promise<T> {
  mkdirSync(project.functionsDir, { recursive: true })
  removeLeftStaging(project.functionsDir)
  const staging = mkdtempSync(join(project.functionsDir, STAGING_PREFIX))
  try {
    return await work(staging)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function removeLeftStaging(functionsDir: string): void {
  for (const name of readdirSync(functionsDir).filter((each) => each.startsWith(STAGING_PREFIX))) {
    const folder = join(functionsDir, name)
    const createdAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - createdAt > STAGING_LEFT_AFTER_MS) rmSync(folder, { recursive: true, force: true })
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch (error) {
    // Something of a person's own is in it, or another command has removed it already.
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

function configFile(project: Project): string {
  return join(project.supabaseDir, 'config.toml')
}

function planConfig(project: Project, functions: readonly string[]): PlannedFile {
  const path = configFile(project)
  const found = read(path)
  return { path, found, text: withFunctionEntries(project, found, functions) }
}

function plan(path: string, text: string): PlannedFile {
  return { path, text, found: read(path) }
}

function isGroupedAlready(project: Project, flow: ExportedFlow): boolean {
  const source = read(join(project.functionsDir, flow.flowSlug.toLowerCase(), 'index.ts'))
  return source?.startsWith(GROUPED_MARK) ?? false
}

function isTaken(project: Project, name: string): boolean {
  const folder = join(project.functionsDir, name)
  if (!statSync(folder, { throwIfNoEntry: false })) return false
  const source = ['index.ts', 'index.js'].map((file) => read(join(folder, file))).find((text) => text !== undefined)
  return source !== undefined && !source.startsWith(GENERATED_MARK)
}

function read(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : undefined
}

function noFlows(project: Project, modules: readonly string[], warnings: readonly string[]): StarflowError {
  const folder = join(relative(process.cwd(), project.functionsDir), FLOWS_FOLDER)
  return new StarflowError({
    code: 'SF612',
    message: `No flow is exported from ${folder}.`,
    detail:
      modules.length === 0
        ? `The folder has no .ts file, or does not exist. The current folder is ${process.cwd()}, and the project ${project.root}.`
        : [`Evaluated: ${modules.map((path) => relative(project.root, path)).join(', ')}.`, ...warnings].join('\n'),
    hint:
      modules.length === 0
        ? `Run it in the folder of your project, put a flow into ${folder}, or name another folder in starflow.config.json: { "functionsDir": "functions" }.`
        : 'Export a flow: export const orders = withStepQueues(new Flow({ slug: "orders" }).step(…)).',
    fields: { folder },
  })
}

function foldersTaken(project: Project, names: readonly string[]): StarflowError {
  const folders = names.map((name) => join(relative(project.root, project.functionsDir), name))
  return new StarflowError({
    code: 'SF613',
    message: `${folders.join(', ')} ${names.length === 1 ? 'is a function' : 'are functions'} that starflow did not generate.`,
    detail: `A flow needs ${names.length === 1 ? 'a worker function of that name' : 'worker functions of these names'}.`,
    hint: 'Rename or delete it, or give the flow or step another slug. No function was changed.',
    fields: { functionNames: names },
  })
}
