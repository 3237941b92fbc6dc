import { relative } from 'node:path'
import { StarflowError } from '@starflow/errors'
import type { Output } from '../output/output.ts'
import { askYesOrNo } from '../output/question.ts'
import { loadProject, type Project } from '../project/project.ts'
import { applyGeneration, type Generation, planGeneration } from './generation.ts'
import { functionWarnings, localWarnings } from './project-needs.ts'
import { diffLines } from './text-diff.ts'

export interface GenerateOptions {
  /** Fail, with a diff, where something would change; change nothing. */
  readonly check?: boolean
  /** Show what would change; change nothing. */
  readonly dryRun?: boolean
  /** Remove obsolete functions without asking. */
  readonly yes?: boolean
  /** One function for all steps of each flow, or (false) one for each step. By default flows stay as they are. */
  readonly grouped?: boolean
}

/** `starflow functions generate`: one worker function for each step queue of the flows in `_flows`. */
export async function generateFunctions(options: GenerateOptions, output: Output, cwd = process.cwd()): Promise<void> {
  const project = await loadProject(cwd)
  const generation = await planGeneration(project, options)
  const warnings = [
    ...generation.warnings,
    ...functionWarnings(generation.needs),
    ...(await localWarnings(generation.needs)),
  ]
  for (const warning of warnings) output.problem(`${output.colors.yellow('warning')}: ${warning}`)
  if (options.check || options.dryRun) {
    showChanges(project, generation, output)
    if (options.check && hasChanges(generation)) throw outdatedFunctions(project, generation)
    output.result(report(project, generation, warnings, { isApplied: false }))
    return
  }
  if (generation.obsolete.length > 0 && !options.yes && !(await mayRemove(project, generation, output))) {
    throw notConfirmed(project, generation)
  }
  await applyGeneration(project, generation)
  for (const file of generation.changed) output.line(`wrote ${relative(project.root, file.path)}`)
  for (const name of generation.obsolete) output.line(`removed ${relative(project.root, project.functionsDir)}/${name}`)
  output.line(
    hasChanges(generation)
      ? `${generation.functions.length} worker functions are up to date.`
      : `${generation.functions.length} worker functions were up to date already.`,
  )
  output.result(report(project, generation, warnings, { isApplied: true }))
}

function hasChanges(generation: Generation): boolean {
  return generation.changed.length > 0 || generation.obsolete.length > 0
}

function showChanges(project: Project, generation: Generation, output: Output): void {
  for (const file of generation.changed) {
    output.line(`${relative(project.root, file.path)}${file.found === undefined ? ' (new)' : ''}`)
    if (file.found === undefined) continue
    for (const line of diffLines(file.found, file.text)) output.line(`  ${line}`)
  }
  for (const name of generation.obsolete) {
    output.line(`${relative(project.root, project.functionsDir)}/${name}: would be removed`)
  }
  if (!hasChanges(generation)) output.line(`${generation.functions.length} worker functions are up to date.`)
}

function report(
  project: Project,
  generation: Generation,
  warnings: readonly string[],
  { isApplied }: { isApplied: boolean },
) {
  return {
    functions: generation.functions,
    warnings,
    needs: generation.needs,
    [isApplied ? 'written' : 'toWrite']: generation.changed.map((file) => relative(project.root, file.path)),
    [isApplied ? 'removed' : 'toRemove']: generation.obsolete,
  }
}

async function mayRemove(project: Project, generation: Generation, output: Output): Promise<boolean> {
  const folder = relative(project.root, project.functionsDir)
  const list = generation.obsolete.map((name) => `${folder}/${name}`).join(', ')
  return await askYesOrNo(output, `No step needs ${list} any longer. Remove?`)
}

/** The refusal of `--check`, and of a deploy of functions that are not what the flows need. */
export function outdatedFunctions(project: Project, generation: Generation): StarflowError {
  const changed = generation.changed.map((file) => relative(project.root, file.path))
  return new StarflowError({
    code: 'SF615',
    message: 'The generated worker functions are not what the flows need.',
    detail: `To write: ${changed.join(', ') || 'nothing'}. To remove: ${generation.obsolete.join(', ') || 'nothing'}.`,
    hint: 'Run: npx starflow functions generate',
    fields: { toWrite: changed, toRemove: generation.obsolete },
  })
}

function notConfirmed(project: Project, generation: Generation): StarflowError {
  return new StarflowError({
    code: 'SF616',
    message: `No step needs ${generation.obsolete.join(', ')} any longer; nothing was changed.`,
    detail: [
      ...generation.warnings,
      `They were generated into ${relative(project.root, project.functionsDir)}. A deployed function stays until you delete it.`,
    ].join('\n'),
    hint:
      generation.warnings.length > 0
        ? 'If a flow was meant to be exported, export it and run again; else run again with --yes to remove them.'
        : 'Run again with --yes to remove them.',
    fields: { functionNames: generation.obsolete },
  })
}
