import { accessSync, constants } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { StarflowError } from '@starflow/errors'
import type { Output } from '../output/output.ts'
import { foldersUpward, type Project } from '../project/project.ts'
import { commandText, type DeployCommand } from './run-command.ts'

/**
 * The command that deploys worker functions: `supabase functions deploy … --use-api`, which needs no Docker. Further
 * arguments (`--project-ref`, `--profile`) are handed through.
 *
 * @throws StarflowError SF635 when the Supabase CLI is nowhere
 */
export function supabaseDeployCommand(
  project: Project,
  functionNames: readonly string[],
  furtherArgs: readonly string[],
): DeployCommand {
  return {
    program: findSupabaseCli(project),
    args: ['functions', 'deploy', ...functionNames, '--use-api', ...furtherArgs],
    env: { SUPABASE_TELEMETRY_DISABLED: process.env.SUPABASE_TELEMETRY_DISABLED ?? '1' },
  }
}

/** The command without the path of its program, for messages. */
export function deployCommandText(command: DeployCommand): string {
  return commandText({ ...command, program: basename(command.program) })
}

/** Shows a line of the command's output; not that of each uploaded file, of which every function has about a hundred. */
export function showDeployLine(line: string, output: Output): void {
  if (!line.startsWith('Uploading asset')) output.line(output.colors.dim(`  ${line}`))
}

function findSupabaseCli(project: Project): string {
  const folders = [
    ...foldersUpward(project.root).map((folder) => join(folder, 'node_modules', '.bin')),
    ...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''),
  ]
  const found = folders.map((folder) => join(folder, 'supabase')).find(isExecutable)
  if (found !== undefined) return found
  throw new StarflowError({
    code: 'SF635',
    message: 'The Supabase CLI was not found.',
    detail: 'Looked for "supabase" in node_modules/.bin of the project and in PATH.',
    hint: 'Run: npm install --save-dev supabase. A rollout takes a command of your own, too: npx starflow rollout --flow <slug> -- <command>',
  })
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
