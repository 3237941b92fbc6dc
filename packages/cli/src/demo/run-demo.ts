import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { fileURLToPath } from 'node:url'
import { StarflowError } from '@starflow/errors'
import type { Sql } from 'postgres'
import type { Output } from '../output/output.ts'
import { formatDuration } from '../output/text-table.ts'
import { applyDemoSchema } from './apply-schema.ts'
import { Chaos, lookForBusyWorkers } from './chaos.ts'
import { type Collection, collectFolder, collectPackageReadmes, describeSkipped } from './collect-documents.ts'
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
  })
  const platform = await startDemoPlatform({
    dataDir,
    functionsDir: join(REPOSITORY, 'functions'),
    note: display.note,
    mayRecreate: () => confirmRecreation(options, output, say),
  })
  try {
    interrupted.throwIfAborted()
    await applyDemoSchema(platform.sql)
    await platform.sql`select pgflow.set_setting('max_requeues', ${options.chaos ? '9' : null})`
    await waitForWorkers(platform.sql, DEMO_FLOW, { since: new Date(startedAt), signal: interrupted })
    say(`Ready in ${formatDuration(Date.now() - startedAt)}. The first workers were started by pings of the ticker.`)
    const summary = await indexDocuments(platform, collection, display, { chaos: options.chaos === true, interrupted })
    display.done()
    say(['', ...summaryLines(summary), '', ...nextCommands(options)].join('\n'))
    output.result(summary)
    if (options.keep) await keepRunning(platform, say, interrupted)
    return summary
  } finally {
    display.done()
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
  const runIds = await startRuns(sql, DEMO_FLOW, collection.documents, interrupted)
  const killer = chaos ? createChaos(platform, runIds, display) : undefined
  killer?.start()
  try {
    await watchUntilEnded(sql, runIds, display, interrupted)
  } finally {
    await killer?.stop()
  }
  return summarize(await readRunFacts(sql, DEMO_FLOW, runIds), {
    documents: collection.documents.length,
    skippedDocuments: collection.skipped.length,
    killed: killer?.killed ?? 0,
    cpuMs: platform.cpuMs(),
  })
}

function createChaos(platform: DemoPlatform, runIds: readonly string[], display: ProgressDisplay): Chaos {
  return new Chaos({
    look: () => lookForBusyWorkers(platform.sql, runIds),
    kill: (worker) => platform.killWorker(worker),
    onKill: ({ functionName, workerId }) => display.note(`chaos: killed worker ${workerId} of ${functionName}`),
    onError: (error) => display.note(`chaos: ${error instanceof Error ? error.message : String(error)}`),
  })
}

async function watchUntilEnded(
  sql: Sql,
  runIds: readonly string[],
  display: ProgressDisplay,
  interrupted: AbortSignal,
): Promise<void> {
  const startedAt = Date.now()
  let last: { progress: Progress; at: number } | undefined
  for (;;) {
    interrupted.throwIfAborted()
    const progress = await readProgress(sql, DEMO_FLOW, runIds)
    const now = Date.now()
    display.update(progress, now - startedAt)
    if (progress.runs.completed + progress.runs.failed >= runIds.length) return
    if (last === undefined || hasAdvanced(last.progress, progress)) last = { progress, at: now }
    if (now - last.at >= NO_PROGRESS_MS) throw noProgress(progress)
    await pause(TICK_MS, interrupted)
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

async function keepRunning(
  platform: DemoPlatform,
  say: (text: string) => void,
  interrupted: AbortSignal,
): Promise<void> {
  say(
    [
      'The platform stays up until Ctrl-C.',
      `  database  ${platform.databaseUrl}`,
      `  API       ${platform.apiUrl}`,
    ].join('\n'),
  )
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve()
    interrupted.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The data is the demo's own, so without a person to ask it goes ahead, and says so. */
async function confirmRecreation({ yes }: DemoOptions, output: Output, say: (text: string) => void): Promise<boolean> {
  const reason = 'The local database was made by another version of Starflow.'
  if (yes || !output.isInteractive || process.stdin.isTTY !== true) {
    say(`${reason} It is made anew.`)
    return true
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`${reason} Delete it and make it anew? [Y/n] `).finally(() => terminal.close())
  return !/^n/i.test(answer.trim())
}

function nextCommands({ chaos, dataDir }: DemoOptions): string[] {
  const where = dataDir === undefined ? '' : ` --data-dir ${dataDir}`
  return [
    'Next, try:',
    `  npm run demo -- search "connection pool"${where}`,
    chaos ? `  npm run demo -- --keep${where}` : `  npm run demo -- --chaos${where}   (kills workers while they work)`,
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
    message: 'DATABASE_URL is set, and the demo does not touch that database.',
    detail: 'The demo always runs on a Postgres of its own, in its data directory.',
    hint: 'Unset DATABASE_URL, or pass --yes to run on the local database of the demo all the same.',
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
