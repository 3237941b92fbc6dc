import { findFunctions } from '@starflow/core/operations'
import { isStarflowError, StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import { outdatedFunctions } from '../functions/generate.command.ts'
import { type Generation, planGeneration } from '../functions/generation.ts'
import { connectionWarnings, functionWarnings } from '../functions/project-needs.ts'
import { readConnectionLimits } from '../operations/connection-budget.ts'
import { NeverBegun } from '../operations/fence-hold.ts'
import { operatorName } from '../operations/operator-name.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { loadProject } from '../project/project.ts'
import { forgetUnseen } from './forget-unseen.ts'
import { whileFenced } from './guarded-deployment.ts'
import { runCommand } from './run-command.ts'
import { deployCommandText, showDeployLine, supabaseDeployCommand } from './supabase-cli.ts'

interface DeployOptions extends DatabaseOptions {
  readonly dryRun?: boolean
  readonly projectRef?: string
  readonly profile?: string
  readonly json?: boolean
}

const FENCED_BY = 'deploy'

/** Adds `starflow deploy`. */
export function addDeployCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('deploy')
      .description('Deploy the generated worker functions, fenced meanwhile: supabase functions deploy --use-api.')
      .argument('[names...]', 'worker functions (default: all that are generated)')
      .option('--dry-run', 'say what would be done and change nothing')
      .option('--project-ref <ref>', 'the Supabase project (default: the linked one)')
      .option('--profile <file>', 'profile of the Supabase CLI'),
  ).action((names: string[], options: DeployOptions) => runDeploy(names, options, outputFor(options)))
}

async function runDeploy(names: readonly string[], options: DeployOptions, output: Output): Promise<void> {
  const project = await loadProject(process.cwd())
  const generation = await planGeneration(project)
  if (generation.changed.length > 0 || generation.obsolete.length > 0) throw outdatedFunctions(project, generation)
  const functionNames = namesToDeploy(names, generation)
  const command = supabaseDeployCommand(project, functionNames, [
    ...(options.projectRef === undefined ? [] : ['--project-ref', options.projectRef]),
    ...(options.profile === undefined ? [] : ['--profile', options.profile]),
  ])
  const interruption = untilInterrupted()
  try {
    await withDatabase(options, async ({ sql, url }) => {
      const known = new Set((await findFunctions(sql)).map((each) => each.functionName))
      const added = functionNames.filter((name) => !known.has(name))
      const { needs } = generation
      const { max, reserved } = await readConnectionLimits(sql)
      const warnings = [...functionWarnings(needs), ...connectionWarnings(needs, max - reserved, 'the database')]
      for (const warning of warnings) output.problem(`${output.colors.yellow('warning')}: ${warning}`)
      const plan = { functionNames, newFunctions: added, command: deployCommandText(command), warnings, needs }
      if (options.dryRun === true) {
        output.result({ ...plan, isDryRun: true })
        if (added.length > 0) output.line(`1. make known: ${added.join(', ')}`)
        output.line(`2. fence ${functionNames.length} functions as "${FENCED_BY}"`)
        output.line(`3. ${plan.command}`)
        output.line('4. restore what the fence found\nNothing was changed.')
        return
      }
      for (const name of added) await sql`select pgflow.track_worker_function(${name})`
      const deployment = whileFenced(
        {
          ...{ databaseUrl: url, functionNames, fencedBy: FENCED_BY, output },
          heldBy: `${FENCED_BY} by ${operatorName()}`,
          signal: interruption.signal,
        },
        async (signal, confirmations) => {
          output.line(`deploying ${plan.command}`)
          await runCommand(command, {
            cwd: project.root,
            signal,
            confirmations,
            onLine: (line) => showDeployLine(line, output),
          })
        },
      )
      const functions = await deployment.catch(async (error: unknown) => {
        // Those whose fence still stands are kept: they are for the next deploy.
        if (!isStarflowError(error, 'SF637')) {
          await forgetUnseen(sql, added, { onFailure: (text) => output.problem(text) })
        }
        throw error
      })
      const restored = functions.map((each) => each.functionName)
      output.line(`restored  ${restored.length} functions`)
      output.result({ ...plan, isDryRun: false, restored })
      output.line('\nDeployed. The next pings start the new workers. See: npx starflow coverage')
    })
  } catch (error) {
    if (!interruption.signal.aborted || isStarflowError(error, 'SF637')) throw error
    output.problem(
      error instanceof NeverBegun
        ? error.message
        : 'Interrupted. What was deployed until then is deployed; the fence is lifted.',
    )
    throw new CommandEnded(EXIT_CODES.interrupted)
  } finally {
    interruption.release()
  }
}

function namesToDeploy(names: readonly string[], generation: Generation): readonly string[] {
  const unknown = names.filter((name) => !generation.functions.includes(name))
  if (unknown.length === 0) return names.length === 0 ? generation.functions : [...new Set(names)]
  throw new StarflowError({
    code: 'SF422',
    message: `${unknown.map((name) => `"${name}"`).join(', ')} is not a generated worker function.`,
    detail: `Generated: ${generation.functions.join(', ')}.`,
    hint: 'Check the spelling, or leave the names out to deploy all.',
    fields: { functionNames: unknown },
  })
}
