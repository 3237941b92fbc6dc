import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ForeignFlowError } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { foldersUpward, type Project } from '../project/project.ts'
import { type DenoEnd, describeDenoEnd, hasCrashed, runTwiceAtMost } from './deno-end.ts'

/** One flow that a module exports, with what its worker functions need. */
export interface ExportedFlow {
  /** The module's path from the functions folder, with slashes: `_flows/orders.ts`. */
  readonly module: string
  readonly exportName: string
  readonly flowSlug: string
  /** One route per step of a step-queued flow; undefined for a plain flow. */
  readonly routes?: readonly { readonly stepSlug: string; readonly queueName: string }[]
  /** The export with its worker settings, how many instances each step asks for, and how many connections, where it says. */
  readonly workers?: {
    readonly exportName: string
    readonly instances: Readonly<Record<string, number>>
    readonly connections: Readonly<Record<string, number>>
  }
}

interface ErrorReport {
  name?: string
  message: string
  stack?: string
  code?: string
  detail?: string
  hint?: string
}

type ModuleReport =
  | {
      path: string
      flows: (Omit<ExportedFlow, 'module'> & { runnerSteps?: string[] })[]
      foreign: { flowSlug: string; className?: string }[]
      error?: undefined
    }
  | { path: string; error: ErrorReport }

/** What the flow modules export, and what they seem to have been meant to. */
export interface EvaluatedModules {
  readonly flows: readonly ExportedFlow[]
  /** One sentence for each thing that a module makes and does not export. */
  readonly warnings: readonly string[]
}

/** The folder of the flow definitions, inside the functions folder. */
export const FLOWS_FOLDER = '_flows'

/** The flow modules of a project: the .ts files directly in `_flows`, tests and declarations apart. */
export function findFlowModules(project: Project): string[] {
  const folder = join(project.functionsDir, FLOWS_FOLDER)
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?[jt]s$/.test(entry.name) && !/\.(test|test-d|d)\.m?ts$/.test(entry.name))
    .map((entry) => join(folder, entry.name))
    .sort()
}

/**
 * Evaluates flow modules in Deno and returns the flows they export for workers, in the order of files and exports, and a warning for
 * what a module makes without exporting it, or for runners only. `workspace` is a folder directly inside the functions folder with the deno.json that a function there will have.
 * Throws SF611 for a module that does not compile or throws, with its file and line, SF122 for a flow of another library.
 */
export async function evaluateFlowModules(
  project: Project,
  modules: readonly string[],
  workspace: string,
): Promise<EvaluatedModules> {
  const script = join(workspace, 'flow-evaluator.ts')
  copyFileSync(fileURLToPath(new URL('./flow-evaluator.ts', import.meta.url)), script)
  const reports = await runEvaluator(project, script, modules)
  const evaluated = reports.map((report) => {
    if (report.error !== undefined) throw moduleError(project, report.path, report.error)
    const [foreign] = report.foreign
    if (foreign !== undefined) {
      throw new ForeignFlowError(`${relative(project.root, report.path)} exports`, foreign.flowSlug, foreign.className)
    }
    const module = relative(project.functionsDir, report.path).replaceAll('\\', '/')
    const exported = report.flows.map(({ runnerSteps = [], ...flow }) => ({ flow: { module, ...flow }, runnerSteps }))
    const warnings = [
      ...missingExports(
        report.path,
        exported.map(({ flow }) => flow),
      ),
      ...exported.flatMap(({ flow, runnerSteps }) =>
        runnerSteps.length === 0 ? [] : [forRunnersOnly(flow.flowSlug, runnerSteps)],
      ),
    ]
    return {
      flows: exported.filter(({ runnerSteps }) => runnerSteps.length === 0).map(({ flow }) => flow),
      warnings: warnings.map((text) => `${relative(project.root, report.path)} ${text}`),
    }
  })
  return {
    flows: evaluated.flatMap(({ flows }) => flows),
    warnings: evaluated.flatMap(({ warnings }) => warnings),
  }
}

function forRunnersOnly(flowSlug: string, steps: readonly string[]): string {
  return `exports "${flowSlug}", which runs on runners only (${steps.join(', ')}): it gets no worker function.`
}

/** A module that makes a flow and exports none has most likely lost the word `export`; nothing else would tell. */
function missingExports(path: string, flows: readonly ExportedFlow[]): string[] {
  const source = readFileSync(path, 'utf8')
  if (flows.length === 0)
    return /\bnew\s+Flow\b/.test(source) ? ['exports no flow: write `export const` before it.'] : []
  if (!/\bdefineWorkers\s*\(/.test(source) || flows.some(({ workers }) => workers !== undefined)) return []
  return [
    'does not export what defineWorkers returns: its settings do not apply. Write `export const workers = defineWorkers(…)`.',
  ]
}

async function runEvaluator(project: Project, script: string, modules: readonly string[]): Promise<ModuleReport[]> {
  // Only here: the whole local platform comes with it.
  const { killAtExit, resolveDenoBinary } = await import('@starflow/local')
  const mark = `${randomUUID()} `
  const args = [
    ...['run', '--no-prompt', '--allow-read', '--allow-env', '--allow-sys'],
    ...(hasNodeModules(project) ? ['--node-modules-dir=manual'] : []),
    ...[script, mark, ...modules],
  ]
  const end = await runTwiceAtMost(() =>
    run(resolveDenoBinary(), args, project.root, (child) => killAtExit(child.pid, 'SIGKILL')),
  )
  const line = end.stdout.split('\n').find((each) => each.startsWith(mark))
  if (line !== undefined) return JSON.parse(line.slice(mark.length)) as ModuleReport[]
  throw new StarflowError({
    code: 'SF617',
    message: 'The flow modules could not be evaluated in Deno.',
    detail: describeDenoEnd(end),
    hint: hasCrashed(end)
      ? 'Deno itself broke down, twice, mostly because memory is short: on the computer, or because a module fills it when it is imported. End what uses much of it, and run the command again.'
      : `Modules in ${relative(project.root, project.functionsDir)}/${FLOWS_FOLDER} only define flows: nothing in them may exit or wait when they are imported.`,
  })
}

/** npm packages are then taken from there, as they are when the functions run; else Deno fetches them. */
function hasNodeModules(project: Project): boolean {
  return foldersUpward(project.root).some((folder) => existsSync(join(folder, 'node_modules')))
}

function run(command: string, args: readonly string[], cwd: string, guard: (child: ChildProcess) => () => void) {
  return new Promise<DenoEnd>((resolve, reject) => {
    const env = { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' }
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const letGo = guard(child)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.once('error', reject)
    child.once('close', (exitCode, signal) => {
      letGo()
      resolve({ exitCode, signal, stdout, stderr })
    })
  })
}

/** SF611: which module, where in it (or in what it imports), and why; a refusal of the flow itself keeps its own parts. */
function moduleError(project: Project, path: string, error: ErrorReport): StarflowError {
  const module = relative(project.root, path)
  const place = placeOf(error.message, project) ?? placeOf(error.stack ?? '', project)
  const reason = error.message
    .replace(/^(SyntaxError|TypeError): /, '')
    .replace(/\s+at file:\/\/\S+/g, '')
    // Deno's own advice is for projects whose packages it manages.
    .replace(/\n\s*hint: .*`deno .*/g, '')
    .trim()
  return new StarflowError({
    code: 'SF611',
    message: `The flow module ${module} ${isSyntaxError(error) ? 'does not compile' : 'cannot be loaded'}: ${place === undefined ? basename(module) : `${place.file}:${place.line}`}.`,
    detail: [`${error.code?.startsWith('SF') ? `${error.code}: ` : ''}${reason}`, error.detail]
      .filter((part) => part !== undefined)
      .join('\n'),
    hint:
      error.hint ??
      missingPackageHint(reason) ??
      'Correct the file and run the command again. No function was changed.',
    fields: { module, ...place },
  })
}

function isSyntaxError({ name, message }: ErrorReport): boolean {
  return name === 'SyntaxError' || /^SyntaxError: |could not be parsed/.test(message)
}

/** Deno knows only that its own configuration lacks the package. */
function missingPackageHint(reason: string): string | undefined {
  const name = missingPackage(reason)
  return name === undefined
    ? undefined
    : `Run: npm install ${name}. If it is no npm package, correct the import. No function was changed.`
}

function missingPackage(reason: string): string | undefined {
  const specifier = /Import "([^".][^"]*)" not a dependency/.exec(reason)?.[1]?.replace(/^npm:\/?/, '')
  if (specifier === undefined || /^(node|jsr|https?|file):/.test(specifier)) return undefined
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0]
}

function placeOf(text: string, project: Project): { file: string; line: number; column: number } | undefined {
  for (const [, url, line, column] of text.matchAll(/(file:\/\/[^\s"')]+?):(\d+):(\d+)/g)) {
    const file = relative(project.root, fileURLToPath(url as string))
    // Frames of our packages and of dependencies say less than the user's line that called them.
    if (file.startsWith('..') || /(^|\/)(node_modules|flow-evaluator\.ts)/.test(file) || isOurs(file)) continue
    return { file, line: Number(line), column: Number(column) }
  }
  return undefined
}

function isOurs(file: string): boolean {
  return /^packages\/(dsl|errors|core|edge-worker)\/src\//.test(file)
}
