import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Sql } from '@starflow/core'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { type LocalDashboard, startLocalDashboard } from '../dashboard/local-dashboard.ts'
import type { Output } from '../output/output.ts'
import { ask, canAsk } from '../output/question.ts'
import { formatDuration } from '../output/text-table.ts'
import { applyDemoSchema } from './apply-schema.ts'
import { Chaos, lookForBusyWorkers, MIN_KILLS } from './chaos.ts'
import { type Collection, collectFolder, collectPackageReadmes, describeSkipped } from './collect-documents.ts'
import { commonKeyword, forgetEarlierDemos } from './demo-index.ts'
import { type DemoPlatform, startDemoPlatform } from './demo-platform.ts'
import { describeOpenWork, hasAdvanced, type Progress, readProgress } from './progress.ts'
import { createProgressDisplay, type ProgressDisplay } from './progress-display.ts'
import { startRuns } from './start-runs.ts'
import { type DemoSummary, readRunFacts, summarize, summaryLines } from './summary.ts'
import { waitForWorkers } from './wait-for-workers.ts'

const DEMO_FLOW = 'readmeIndexV1'

/** The repository: the demo reads its flows, and by default its packages. */
const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url))

const TICK_MS = 1_000
/**
 * How many documents chaos lets in at a time until it has killed enough: so the work lasts until it has, however fast the machine.
 * At each look there is either work in hand or the next portion due.
 */
const CHAOS_PORTION = 4
const CHAOS_TICK_MS = 250
/** Longer than any recovery takes: a killed worker's tasks are back after half a minute. */
const NO_PROGRESS_MS = 180_000

export interface DemoOptions {
  /** A folder of Markdown instead of the installed packages. */
  readonly docs?: string | undefined
  readonly limit?: number | undefined
  /** Kill workers while they work. */
  readonly chaos?: boolean | undefined
  /** Leave the platform running until Ctrl-C. */
  readonly keep?: boolean | undefined
  readonly yes?: boolean | undefined
  readonly dataDir?: string | undefined
}

/**
 * Runs the main job on a platform of its own and gives what it came to. Whatever happens, nothing that it started is left
 * running. `interrupted` ends it early; it then rejects with the signal's reason.
 *
 * @throws StarflowError SF601 or SF602 for the documents, SF604 without progress, SF605 for a foreign DATABASE_URL, and what
 * the local platform refuses
 */
export async function runDemo(options: DemoOptions, output: Output, interrupted: AbortSignal): Promise<DemoSummary> {
  refuseForeignDatabase(options)
  const collection = await collect(options)
  const dataDir = demoDataDir(options)
  const say = (text: string) => (output.json ? output.problem(text) : output.line(text))
  say(`${collection.documents.length} documents to index.`)
  if (collection.skipped.length > 0) say(`${describeSkipped(collection.skipped)}.`)
  say(`Starting Postgres, the functions host and the ticker in ${relative(process.cwd(), dataDir) || '.'} ...`)

  const startedAt = Date.now()
  const display = createProgressDisplay({
    terminal: output.isInteractive ? process.stdout : undefined,
    writeLine: say,
    colors: output.colors,
    printable: output.printable,
  })
  const platform = await startDemoPlatform({
    dataDir,
    functionsDir: join(REPOSITORY, 'functions'),
    configFile: join(REPOSITORY, 'supabase', 'config.toml'),
    note: display.note,
    mayRecreate: () => confirmRecreation(options, output, say, interrupted),
  }).catch((error: unknown) => {
    throw isStarflowError(error, 'SF507') ? anotherDemo(error) : error
  })
  let dashboard: LocalDashboard | undefined
  try {
    interrupted.throwIfAborted()
    if (options.keep) dashboard = await showDashboard(platform, dataDir, { say, note: display.note })
    await applyDemoSchema(platform.sql)
    await forgetEarlierDemos(platform.sql, DEMO_FLOW)
    await platform.sql`select pgflow.set_setting('max_requeues', ${options.chaos ? '9' : null})`
    await waitForWorkers(platform.sql, DEMO_FLOW, { since: new Date(startedAt), signal: interrupted })
    say(`Ready in ${formatDuration(Date.now() - startedAt)}. The first workers were started by pings of the ticker.`)
    const summary = await indexDocuments(platform, collection, display, { chaos: options.chaos === true, interrupted })
    const keyword = await commonKeyword(platform.sql)
    say(['', ...summaryLines(summary), '', ...nextCommands(options, keyword)].join('\n'))
    output.result(summary)
    if (options.keep) await keepRunning(platform, dashboard, say, interrupted)
    return summary
  } finally {
    display.done()
    await dashboard?.stop()
    await platform.dispose()
  }
}

export function demoDataDir(options: { dataDir?: string | undefined }): string {
  return resolve(options.dataDir ?? join(REPOSITORY, '.starflow', 'demo'))
}

async function indexDocuments(
  platform: DemoPlatform,
  collection: Collection,
  display: ProgressDisplay,
  { chaos, interrupted }: { chaos: boolean; interrupted: AbortSignal },
): Promise<DemoSummary> {
  const { sql } = platform
  const waiting = [...collection.documents]
  const runIds: string[] = []
  const startNext = async (count: number) => {
    runIds.push(...(await startRuns(sql, DEMO_FLOW, waiting.splice(0, count), interrupted)))
  }
  const killer = chaos ? createChaos(platform, { runIds, waiting }, display) : undefined
  let killedBefore = 0
  let last: Progress
  await startNext(chaos ? CHAOS_PORTION : waiting.length)
  killer?.start()
  try {
    last = await watchUntilEnded(sql, runIds, display, interrupted, {
      documents: collection.documents.length,
      killed: () => killer?.killedWorkerIds ?? [],
      goOn: async (ended) => {
        const killed = killer?.killed ?? 0
        if (killed >= MIN_KILLS) await startNext(waiting.length)
        else if (ended === runIds.length || killed > killedBefore) await startNext(CHAOS_PORTION)
        killedBefore = killed
      },
    })
  } finally {
    await killer?.stop()
  }
  const facts = await readRunFacts(sql, DEMO_FLOW, runIds)
  // The database's clock, so that the bar ends with the time of the summary.
  display.update(last, facts.seconds * 1_000)
  display.done()
  return summarize(facts, {
    documents: collection.documents.length,
    skippedDocuments: collection.skipped.length,
    chaos,
    killed: killer?.killed ?? 0,
    cpuMs: platform.cpuMs(),
  })
}

function createChaos(
  platform: DemoPlatform,
  work: { readonly runIds: readonly string[]; readonly waiting: readonly unknown[] },
  display: ProgressDisplay,
): Chaos {
  return new Chaos({
    look: async () => {
      const view = await lookForBusyWorkers(platform.sql, work.runIds)
      return { ...view, lastStepsStarted: view.lastStepsStarted && work.waiting.length === 0 }
    },
    kill: (worker) => platform.killWorker(worker),
    onKill: ({ step }, killed) => display.note(`chaos: killed the worker of ${step} (${killed} so far)`),
    onError: (error) => display.note(`chaos: ${error instanceof Error ? error.message : String(error)}`),
  })
}

async function watchUntilEnded(
  sql: Sql,
  runIds: readonly string[],
  display: ProgressDisplay,
  interrupted: AbortSignal,
  work: {
    readonly documents: number
    readonly killed: () => readonly string[]
    /** Starts more runs where it is time for them. */
    readonly goOn: (ended: number) => Promise<void>
  },
): Promise<Progress> {
  const startedAt = Date.now()
  let last: { progress: Progress; at: number } | undefined
  for (;;) {
    interrupted.throwIfAborted()
    const progress = await readProgress(sql, DEMO_FLOW, runIds, { killed: work.killed() })
    const now = Date.now()
    const ended = progress.runs.completed + progress.runs.failed
    if (ended >= work.documents) return progress
    const isFeeding = runIds.length < work.documents
    if (isFeeding) await work.goOn(ended)
    display.update(progress, now - startedAt)
    if (last === undefined || hasAdvanced(last.progress, progress)) last = { progress, at: now }
    if (now - last.at >= NO_PROGRESS_MS) throw noProgress(progress)
    await pause(isFeeding ? CHAOS_TICK_MS : TICK_MS, interrupted)
  }
}

function noProgress(progress: Progress): StarflowError {
  return new StarflowError({
    code: 'SF604',
    message: `Nothing has moved for ${formatDuration(NO_PROGRESS_MS)}.`,
    detail: `${describeOpenWork(progress)}.`,
    hint: 'Look at the messages of the worker functions above; with --keep the platform stays up to be looked into.',
    fields: { lost: progress.runs.started, completed: progress.runs.completed, failed: progress.runs.failed },
  })
}

/** Before the work begins, so that it can be watched. The demo goes on without it. */
async function showDashboard(
  platform: DemoPlatform,
  dataDir: string,
  { say, note }: { say: (text: string) => void; note: (text: string) => void },
): Promise<LocalDashboard | undefined> {
  try {
    const dashboard = await startLocalDashboard({ dataDir, platform, note })
    say(`Watch it in the dashboard; this link signs you in, once:\n  ${dashboard.signInLink()}`)
    return dashboard
  } catch (error) {
    note(`the dashboard is not there: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

async function keepRunning(
  platform: DemoPlatform,
  dashboard: LocalDashboard | undefined,
  say: (text: string) => void,
  interrupted: AbortSignal,
): Promise<void> {
  say(
    [
      'The platform stays up until Ctrl-C.',
      ...(dashboard === undefined
        ? []
        : [
            `  dashboard         ${dashboard.signInLink()}`,
            '                    signs you in, once, within 10 minutes',
          ]),
      `  database          ${platform.databaseUrl}`,
      `  API               ${platform.apiUrl}`,
      `  anon key          ${platform.anonKey}`,
      `  service_role key  ${platform.serviceRoleKey}`,
      'Some SQL to begin with:',
      '  select package, title, keywords from demo.documents order by words desc limit 5;',
      '  select step_slug, status, count(*) from pgflow.step_tasks group by 1, 2 order by 1;',
    ].join('\n'),
  )
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve()
    interrupted.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The data is the demo's own, so without a person to ask it goes ahead, and says so. */
async function confirmRecreation(
  { yes }: DemoOptions,
  output: Output,
  say: (text: string) => void,
  interrupted: AbortSignal,
): Promise<boolean> {
  const reason = 'The local database was made by another version of Starflow.'
  if (yes || !canAsk(output)) {
    say(`${reason} It is created again.`)
    return true
  }
  const answer = await ask(output, `${reason} Delete it and create it again? [Y/n] `, interrupted)
  // An input that has ended agrees to nothing.
  return answer !== undefined && !/^n/i.test(answer)
}

function nextCommands({ chaos, keep, dataDir }: DemoOptions, keyword: string | undefined): string[] {
  const where = dataDir === undefined ? '' : ` --data-dir ${dataDir}`
  return [
    'Next, try:',
    ...(keyword === undefined ? [] : [`  npm run demo -- search "${keyword}"${where}`]),
    ...(keep ? [] : [`  npm run demo -- --keep${where}   (stays up, with a dashboard to look around in)`]),
    ...(chaos ? [] : [`  npm run demo -- --chaos${where}   (kills workers while they work)`]),
  ]
}

async function collect({ docs, limit }: DemoOptions): Promise<Collection> {
  if (docs !== undefined) return collectFolder(docs, limit)
  return collectPackageReadmes(join(REPOSITORY, 'node_modules'), limit)
}

function refuseForeignDatabase({ yes }: DemoOptions): void {
  if (!process.env.DATABASE_URL || yes) return
  throw new StarflowError({
    code: 'SF605',
    message: 'DATABASE_URL is set, but the demo would not use that database.',
    detail:
      'It always runs on a Postgres of its own, in its data folder. Whoever sets DATABASE_URL may expect their own database to be indexed, so the demo asks first.',
    hint: 'Pass --yes to go on (your database is not touched), or unset DATABASE_URL.',
  })
}

function anotherDemo(error: StarflowError): StarflowError {
  return new StarflowError({
    code: 'SF507',
    message: `Another \`npm run demo\` (process ${error.fields.pid}) is running.`,
    detail: error.message,
    hint: 'Wait for it, stop it with Ctrl-C, or use another folder: npm run demo -- --data-dir <folder>',
    fields: error.fields,
    cause: error,
  })
}

function pause(milliseconds: number, interrupted: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      interrupted.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    interrupted.addEventListener('abort', end)
  })
}
