import { findFunctions } from '@starflow/core/operations'
import { isStarflowError, StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type Database, type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import { whileFenced } from '../deploy/guarded-deployment.ts'
import { type DeployCommand, runCommand } from '../deploy/run-command.ts'
import { deployCommandText, showDeployLine, supabaseDeployCommand } from '../deploy/supabase-cli.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatNumberOf } from '../output/text-table.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { loadProject } from '../project/project.ts'
import { timeoutSeconds } from './await-coverage.ts'
import { aliveWorkers, drain } from './drain.ts'
import { NeverBegun } from './fence-hold.ts'
import { operatorName } from './operator-name.ts'
import { rollOutVersion } from './version-rollout.ts'
import { workerFunctionSet } from './worker-function-set.ts'

export interface RolloutOptions extends DatabaseOptions {
  readonly flow?: string
  readonly to?: string
  readonly from?: string
  readonly retire?: boolean
  readonly dryRun?: boolean
  readonly deploy: boolean
  readonly projectRef?: string
  readonly drainTimeout: number
  readonly waitTimeout: number
  readonly json?: boolean
}

/** Adds `starflow rollout`: in place (`--flow`), or to a new version (`--to`). */
export function addRolloutCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('rollout')
      .description(
        'Replace the workers of a flow in place (--flow), or bring up a new version beside the old one (--to).',
      )
      .argument('[command...]', 'the command that deploys, after -- (default: supabase functions deploy)')
      .option('--flow <slug>', 'fence, drain, deploy and restore all worker functions of this flow')
      .option('--to <slug>', 'check that every route of this new version has a live worker')
      .option('--from <slug>', 'with --to: the old version; shows what is left of it')
      .option('--retire', 'with --from: fence the old version once no run of it is open')
      .option('--dry-run', 'say what would be done and change nothing')
      .option('--no-deploy', 'with --flow: only fence, drain and restore')
      .option('--project-ref <ref>', 'the Supabase project to deploy to')
      .option('--drain-timeout <seconds>', 'how long workers get to finish', timeoutSeconds, 600)
      .option('--wait-timeout <seconds>', 'with --to: how long to wait for live workers', timeoutSeconds, 0),
  ).action((command: string[], options: RolloutOptions) => runRollout(command, options, outputFor(options)))
}

async function runRollout(command: readonly string[], options: RolloutOptions, output: Output): Promise<void> {
  checkUsage(command, options)
  const interruption = untilInterrupted()
  try {
    await withDatabase(options, async (database) => {
      if (options.to !== undefined)
        await rollOutVersion(database.sql, { ...options, to: options.to }, output, interruption.signal)
      else await replaceInPlace(database, command, options, output, interruption.signal)
    })
  } catch (error) {
    if (!interruption.signal.aborted || isStarflowError(error, 'SF637')) throw error
    // Only its waiting ends without a word of its own.
    if (options.to !== undefined && (error as Error).name !== 'AbortError') throw error
    output.problem(interruptedWords(error, options))
    throw new CommandEnded(EXIT_CODES.interrupted)
  } finally {
    interruption.release()
  }
}

function interruptedWords(error: unknown, { to }: RolloutOptions): string {
  if (to !== undefined)
    return 'Interrupted. Nothing was changed: a rollout to a new version only waits for its workers.'
  return error instanceof NeverBegun ? error.message : 'Interrupted. The fence is lifted, as it was found.'
}

async function replaceInPlace(
  database: Database,
  command: readonly string[],
  options: RolloutOptions,
  output: Output,
  interruption: AbortSignal,
): Promise<void> {
  const { sql } = database
  const project = await loadProject(process.cwd())
  const functionNames = await workerFunctionSet(sql, [], options.flow)
  const deploy = deployCommand()
  const fencedBy = `rollout of ${options.flow}`
  const plan = {
    flowSlug: options.flow,
    functionNames,
    fencedBy,
    deploy: deploy === undefined ? null : deployCommandText(deploy),
  }

  if (options.dryRun === true) {
    const [functions, alive] = [await findFunctions(sql, functionNames), await aliveWorkers(sql, functionNames)]
    output.result({ ...plan, isDryRun: true, functions, aliveWorkers: alive.length })
    output.line(`1. fence ${functionNames.join(', ')}`)
    for (const each of functions.filter((row) => row.fencedBy !== null && row.fencedBy !== fencedBy)) {
      output.line(`   refused: ${each.functionName} is fenced by ${each.fencedBy}`)
    }
    output.line(`2. drain ${formatNumberOf(alive.length, 'worker')}, within ${options.drainTimeout} s`)
    output.line(`3. ${plan.deploy ?? 'deploy nothing'}`)
    output.line(
      `4. restore: ${functions.map((each) => `${each.functionName} ${(each.enabledBeforeFence ?? each.enabled) ? 'enabled' : 'disabled'}`).join(', ')}`,
    )
    output.line('Nothing was changed.')
    return
  }

  let drained = 0
  const restored = await whileFenced(
    {
      ...{ databaseUrl: database.url, functionNames, fencedBy, output },
      heldBy: `${fencedBy} by ${operatorName()}`,
      signal: interruption,
    },
    async (signal, confirmations) => {
      await drain(sql, functionNames, {
        timeoutMs: options.drainTimeout * 1000,
        signal,
        onProgress: (workers) => {
          drained = Math.max(drained, workers.length)
          output.line(
            workers.length === 0
              ? 'drained   no worker is left'
              : `draining  ${formatNumberOf(workers.length, 'worker')} still to finish`,
          )
        },
      })
      if (deploy === undefined) return
      output.line(`deploying ${plan.deploy}`)
      await runCommand(deploy, {
        cwd: project.root,
        signal,
        confirmations,
        onLine: (line) => showDeployLine(line, output),
      })
    },
  )
  const disabled = restored.filter((each) => !each.enabled).map((each) => each.functionName)
  output.line(
    `restored  ${formatNumberOf(restored.length, 'function')}${disabled.length === 0 ? '' : `; disabled as before: ${disabled.join(', ')}`}`,
  )
  output.result({ ...plan, isDryRun: false, drainedWorkers: drained })
  output.line('\nThe next pings start the new workers. See: npx starflow coverage')

  function deployCommand(): DeployCommand | undefined {
    const [program, ...args] = command
    if (program !== undefined) return { program, args }
    // The local platform runs the functions from the folder they are in.
    if (!options.deploy || database.isLocalPlatform) return undefined
    return supabaseDeployCommand(
      project,
      functionNames,
      options.projectRef === undefined ? [] : ['--project-ref', options.projectRef],
    )
  }
}

function checkUsage(command: readonly string[], options: RolloutOptions): void {
  const problem =
    (options.flow === undefined) === (options.to === undefined)
      ? 'A rollout needs either --flow (in place) or --to (a new version).'
      : options.to === undefined && (options.from !== undefined || options.retire === true)
        ? '--from and --retire belong to --to.'
        : options.retire === true && options.from === undefined
          ? '--retire needs --from.'
          : options.to !== undefined && command.length > 0
            ? 'A rollout to a new version deploys nothing: deploy first.'
            : undefined
  if (problem === undefined) return
  throw new StarflowError({
    code: 'SF610',
    message: problem,
    detail: 'In place deploys what runs now anew; to a new version moves the starts from one concrete slug to another.',
    hint: 'In place: npx starflow rollout --flow ordersV1. A new version: npx starflow deploy, then npx starflow rollout --to ordersV2 --from ordersV1',
  })
}
