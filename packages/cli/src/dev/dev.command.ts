import { relative } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { StarflowError } from '@starflow/errors'
import type { PlatformEvent } from '@starflow/local'
import type { Command } from 'commander'
import { applyGeneration, type Generation, planGeneration } from '../functions/generation.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { printError } from '../output/print-error.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { type StarflowPlatform, startStarflowPlatform } from '../platform/start-starflow-platform.ts'
import { loadProject, type Project } from '../project/project.ts'

interface DevOptions {
  readonly port?: string
  readonly databasePort?: string
  readonly recreate?: boolean
  readonly json?: boolean
}

/** Adds `starflow dev`. */
export function addDevCommand(program: Command, outputFor: (options: { json?: boolean }) => Output): void {
  program
    .command('dev')
    .description('Run the project on this computer: Supabase without Docker, and the workers of all flows.')
    .option('--port <number>', 'port of the API (default: the one of last time, else a free one)')
    .option('--database-port <number>', 'port of Postgres (default: the one of last time, else a free one)')
    .option('--recreate', 'delete a local database that other migrations made, without asking')
    .option('--json', 'print one JSON object a line: first the addresses, then each event')
    .action((options: DevOptions) => runDev(options, outputFor(options)))
}

/** Runs until Ctrl-C or SIGTERM, then stops all that it started. */
async function runDev(options: DevOptions, output: Output): Promise<void> {
  const ports = { ...port('api', '--port', options.port), ...port('database', '--database-port', options.databasePort) }
  const project = await loadProject(process.cwd())
  const interruption = untilInterrupted()
  let platform: StarflowPlatform | undefined
  let regeneration = Promise.resolve()
  try {
    await generate(project, output)
    interruption.signal.throwIfAborted()
    platform = await startStarflowPlatform({
      dataDir: `${project.stateDir}/dev`,
      functionsDir: project.functionsDir,
      migrationsDir: `${project.supabaseDir}/migrations`,
      ports,
      watch: true,
      onEvent: (event) => {
        showEvent(event, output)
        if (event.type !== 'functions.reloaded' || platform === undefined) return
        const running = platform
        // One after the other: they share a staging folder.
        regeneration = regeneration.then(() => regenerate(project, running, output, interruption.signal))
      },
      mayRecreate: () => options.recreate === true || askToRecreate(output),
    })
    showAddresses(platform, output)
    await interruption.ended
  } catch (error) {
    if (!interruption.signal.aborted) throw error
  } finally {
    await regeneration
    await platform?.dispose()
    interruption.release()
  }
  throw new CommandEnded(EXIT_CODES.interrupted)
}

/** Functions follow the flows; what no flow needs any longer is only named, since removing it needs a yes. */
async function generate(project: Project, output: Output): Promise<Generation> {
  const generation = await planGeneration(project)
  await applyGeneration(project, { ...generation, obsolete: [] })
  for (const file of generation.changed) output.line(`wrote ${relative(project.root, file.path)}`)
  if (generation.obsolete.length > 0) {
    output.line(`no step needs ${generation.obsolete.join(', ')}: starflow functions generate removes them`)
  }
  return generation
}

/** After an edit: a broken flow is reported and the old functions go on. */
async function regenerate(
  project: Project,
  platform: StarflowPlatform,
  output: Output,
  interrupted: AbortSignal,
): Promise<void> {
  if (interrupted.aborted) return
  try {
    const { functions } = await generate(project, output)
    for (const name of functions) await platform.sql`select pgflow.track_worker_function(${name})`
  } catch (error) {
    // Whatever it is, the workers that run go on.
    if (!interrupted.aborted) printError(error, output)
  }
}

function showAddresses({ platform, functions }: StarflowPlatform, output: Output): void {
  const { apiUrl, databaseUrl, anonKey, serviceRoleKey } = platform
  const rows = { API: apiUrl, Database: databaseUrl, 'anon key': anonKey, 'service_role key': serviceRoleKey }
  for (const [name, value] of Object.entries(rows)) output.line(`${`${name}:`.padEnd(18)}${value}`)
  output.line(`${'Workers:'.padEnd(18)}${functions.join(', ')}`)
  output.line('\nReady. A change in the functions folder restarts the workers; Ctrl-C stops everything.')
  output.result({ event: 'ready', apiUrl, databaseUrl, anonKey, serviceRoleKey, functions })
}

/** What a person who edits flows wants to see: the lines that functions write, boots that fail, and reloads. */
function showEvent(event: PlatformEvent, output: Output): void {
  switch (event.type) {
    case 'function.log':
      output.line(`${output.colors.dim(event.name)} ${event.line}`)
      break
    case 'function.boot_failed':
      printError(event.error, output)
      return
    case 'functions.reloaded':
      output.line(output.colors.dim(`${event.path} changed: workers restart`))
      break
  }
  const { type, ...fields } = event
  output.result({ event: type, ...fields })
}

async function askToRecreate(output: Output): Promise<boolean> {
  if (!output.isInteractive || process.stdin.isTTY !== true) return false
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const question = 'The local database was made by other migrations. Delete its data and make it anew? [y/N] '
  const answer = await terminal.question(question).finally(() => terminal.close())
  return /^y(es)?$/i.test(answer.trim())
}

function port(name: 'api' | 'database', option: string, text: string | undefined): Record<string, number> {
  if (text === undefined) return {}
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= 65_535) return { [name]: value }
  throw new StarflowError({
    code: 'SF610',
    message: `${option} cannot be "${text}".`,
    detail: 'A port is a whole number from 1 to 65535.',
    hint: `Leave ${option} out to get a free port.`,
  })
}
