import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { findPostgres } from '@starflow/local'
import type { Command } from 'commander'
import { type LocalDashboard, type LocalDashboardOptions, startLocalDashboard } from '../dashboard/local-dashboard.ts'
import { applyGeneration, type Generation, planGeneration } from '../functions/generation.ts'
import { localWarnings } from '../functions/project-needs.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { printError } from '../output/print-error.ts'
import { askYesOrNo } from '../output/question.ts'
import { formatDuration } from '../output/text-table.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { type StarflowPlatform, startStarflowPlatform, trackFunctions } from '../platform/start-starflow-platform.ts'
import { loadProject, type Project } from '../project/project.ts'
import { readAttemptOutcome } from './attempt-outcome.ts'
import { DevLog } from './dev-log.ts'
import { RunWatch } from './run-watch.ts'

interface DevOptions {
  readonly port?: string
  readonly databasePort?: string
  readonly dashboardPort?: string
  readonly recreate?: boolean
  readonly verbose?: boolean
  readonly json?: boolean
}

/** How long the first workers may take before the way to start a run is shown all the same. */
const FIRST_WORKERS_MS = 20_000
const OTHER_MIGRATIONS = 'The local database was made by other migrations. Delete its data and create it again?'

/** Adds `starflow dev`. */
export function addDevCommand(program: Command, outputFor: OutputFor): void {
  program
    .command('dev')
    .description('Run the project on this computer: Supabase without Docker, and the workers of all flows.')
    .option('--port <number>', 'port of the API (default: the one of last time, else a free one)')
    .option('--database-port <number>', 'port of Postgres (default: the one of last time, else a free one)')
    .option('--dashboard-port <number>', 'port of the dashboard (default: the one of last time, else a free one)')
    .option('--recreate', 'delete a local database that other migrations made, without asking')
    .option('--verbose', 'show the life of the workers too, and what handlers log at level debug')
    .option('--json', 'print one JSON object a line: first the addresses, then each event')
    .action((options: DevOptions) => runDev(options, outputFor(options)))
}

/** Runs until Ctrl-C or SIGTERM, then stops all that it started. */
async function runDev(options: DevOptions, output: Output): Promise<void> {
  const ports = { ...port('api', '--port', options.port), ...port('database', '--database-port', options.databasePort) }
  const { dashboard: dashboardPort } = port('dashboard', '--dashboard-port', options.dashboardPort)
  const project = await loadProject(process.cwd())
  const dataDir = join(project.stateDir, 'dev')
  const interruption = untilInterrupted()
  let platform: StarflowPlatform | undefined
  let dashboard: Promise<LocalDashboard | undefined> | undefined
  let runs: RunWatch | undefined
  let regeneration = Promise.resolve()
  const log = new DevLog({
    output,
    root: project.root,
    verbose: options.verbose === true,
    readOutcome: async (attempt) => platform && readAttemptOutcome(platform.sql, attempt),
  })
  try {
    const generator = new Generator(project, output)
    const generation = await generator.run()
    interruption.signal.throwIfAborted()
    const startedAt = Date.now()
    platform = await startStarflowPlatform({
      dataDir,
      functionsDir: project.functionsDir,
      functions: generation.functions,
      migrationsDir: join(project.supabaseDir, 'migrations'),
      configFile: join(project.supabaseDir, 'config.toml'),
      ports,
      hasServer: true,
      watch: true,
      // Read by the log, which shows on this computer what a hosted log must not repeat: the text of errors.
      functionEnv: { STARFLOW_LOG_FORMAT: 'json', STARFLOW_LOG_LEVEL: 'debug' },
      onEvent: (event) => {
        if (event.type === 'functions.reloaded') log.checking()
        log.show(event)
        if (event.type !== 'functions.reloaded' || platform === undefined) return
        const { sql } = platform
        // One after the other, so that what the last edit needs is written last.
        regeneration = regeneration.then(() => regenerate(generator, sql, log, output, interruption.signal))
      },
      mayRecreate: () => options.recreate === true || askYesOrNo(output, OTHER_MIGRATIONS, interruption.signal),
    }).catch((error: unknown) => {
      throw inTermsOfDev(error, dataDir)
    })
    runs = new RunWatch({ sql: platform.sql, onEnded: log.showEnded })
    runs.start()
    showAddresses(platform, generation, output)
    // Beside the workers, which wait for nothing.
    dashboard = serveDashboard(
      { dataDir, platform: platform.platform, port: dashboardPort, note: output.problem },
      output,
    )
    const isUp = log.started(generation.functions, FIRST_WORKERS_MS)
    const isServed = Promise.all([isUp, dashboard]).then(([allStarted]) => allStarted)
    const allStarted = await Promise.race([isServed, interruption.ended.then(() => undefined)])
    if (allStarted !== undefined)
      showReady(platform, generation, output, allStarted ? Date.now() - startedAt : undefined)
    await interruption.ended
  } catch (error) {
    if (!interruption.signal.aborted) throw error
  } finally {
    log.stop()
    runs?.stop()
    await regeneration
    await (await dashboard)?.stop()
    await platform?.dispose()
    interruption.release()
  }
  throw new CommandEnded(EXIT_CODES.interrupted)
}

/** Functions follow the flows; what no flow needs any longer is only named, since removing it needs a yes. */
class Generator {
  readonly #project: Project
  readonly #output: Output
  #told = ''
  #failure: string | undefined

  constructor(project: Project, output: Output) {
    this.#project = project
    this.#output = output
  }

  async run(): Promise<Generation> {
    const generation = await planGeneration(this.#project)
    await applyGeneration(this.#project, { ...generation, obsolete: [] })
    for (const file of generation.changed) this.#output.line(`wrote ${relative(this.#project.root, file.path)}`)
    this.#warn([
      ...generation.warnings,
      ...(await localWarnings(generation.needs)),
      ...(generation.obsolete.length === 0
        ? []
        : [`no step needs ${generation.obsolete.join(', ')}. To remove: npx starflow functions generate --yes`]),
    ])
    this.#failure = undefined
    return generation
  }

  /** Whether a failure is another one than that of the run before, which may have met the same edit half a second earlier. */
  isNews(error: unknown): boolean {
    const before = this.#failure
    this.#failure = String(error)
    return this.#failure !== before
  }

  /** Says what is new: an edit does not repeat what still holds. */
  #warn(warnings: readonly string[]): void {
    const { colors } = this.#output
    if (warnings.join('\n') !== this.#told) {
      for (const warning of warnings) this.#output.problem(`${colors.yellow('warning')}: ${warning}`)
    }
    this.#told = warnings.join('\n')
  }
}

/** After an edit: a broken flow is reported and the old functions go on. */
async function regenerate(
  generator: Generator,
  sql: StarflowPlatform['sql'],
  log: DevLog,
  output: Output,
  interrupted: AbortSignal,
): Promise<void> {
  if (interrupted.aborted) return
  log.checking()
  try {
    const { functions } = await generator.run()
    await trackFunctions(sql, functions)
    log.checked({ isBroken: false, functions })
  } catch (error) {
    log.checked({ isBroken: true })
    // Whatever it is, the workers that run go on.
    if (!interrupted.aborted && generator.isNews(error)) printError(error, output)
  }
}

/** Serves the dashboard and prints its address. A failure is printed and ends nothing: flows run without it. */
async function serveDashboard(options: LocalDashboardOptions, output: Output): Promise<LocalDashboard | undefined> {
  try {
    const dashboard = await startLocalDashboard(options)
    output.line(`Dashboard: ${dashboard.signInLink()}`)
    output.line(`  This link signs you in once, within 10 minutes; the address is ${dashboard.url}\n`)
    output.result({ event: 'dashboard', url: dashboard.url })
    return dashboard
  } catch (error) {
    output.problem('The dashboard is not there:')
    printError(error, output)
    return undefined
  }
}

function showAddresses(
  { platform, functions }: StarflowPlatform,
  { flowSlugs, needs }: Generation,
  output: Output,
): void {
  const { apiUrl, databaseUrl, anonKey, serviceRoleKey } = platform
  const rows = { API: apiUrl, Database: databaseUrl, 'anon key': anonKey, 'service_role key': serviceRoleKey }
  for (const [name, value] of Object.entries(rows)) output.line(`${`${name}:`.padEnd(18)}${value}`)
  output.line(`${'Flows:'.padEnd(18)}${flowSlugs.join(', ')}`)
  output.line(`\nStarting ${functions.length === 1 ? '1 worker' : `${functions.length} workers`} …`)
  output.result({ event: 'ready', apiUrl, databaseUrl, anonKey, serviceRoleKey, flows: flowSlugs, functions, needs })
}

/** `tookMs`: undefined when not every worker has started; the log has said why, or says it later. */
function showReady(
  { platform }: StarflowPlatform,
  { flowSlugs }: Generation,
  output: Output,
  tookMs: number | undefined,
): void {
  output.line(
    tookMs === undefined ? 'Ready, but not every worker has started yet.' : `Ready in ${formatDuration(tookMs)}.`,
  )
  output.line('A change in the functions folder restarts the workers; Ctrl-C stops everything.')
  // Said before it can happen: an edit is all that it takes.
  output.line('Another shape of a flow deletes the runs that its old one has on this computer.\n')
  output.line('Start a run in the dashboard, under Flows, or in SQL (the second argument is its input):')
  const query = `select run_id, status from pgflow.start_flow('${flowSlugs[0]}', '{}')`
  output.line(`psql "${platform.databaseUrl}" -c "${query}"`)
}

/** The platform's refusals with the options of this command, and with the way to what runs already. */
function inTermsOfDev(error: unknown, dataDir: string): unknown {
  if (!isStarflowError(error)) return error
  const { code, message, detail, fields } = error
  if (code === 'SF501') {
    const option = fields.purpose === 'api' ? '--port' : '--database-port'
    const hint = `End that process, choose another port with ${option}, or leave ${option} out to get a free one.`
    return new StarflowError({ code, message, detail, hint, fields, cause: error })
  }
  if (code === 'SF507') {
    const running = addressesOf(dataDir)
    return new StarflowError({
      code,
      message: `The local database of this project is in use by process ${fields.pid}, most likely another "starflow dev".`,
      detail: running === undefined ? detail : `It answers at ${running.join(' and ')}.`,
      hint: 'Use that one, or stop it with Ctrl-C.',
      fields,
      cause: error,
    })
  }
  return error
}

function addressesOf(dataDir: string): string[] | undefined {
  try {
    const { api } = JSON.parse(readFileSync(join(dataDir, 'ports.json'), 'utf8')) as { api: number }
    const database = findPostgres(join(dataDir, 'postgres'))?.url()
    return [`http://127.0.0.1:${api}`, ...(database === undefined ? [] : [database])]
  } catch {
    return undefined
  }
}

function port(
  name: 'api' | 'database' | 'dashboard',
  option: string,
  text: string | undefined,
): Record<string, number> {
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
