import { basename, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StarflowError } from '@starflow/errors'
import type { FunctionsEvent } from '@starflow/local'
import type { Output } from '../output/output.ts'
import { printError } from '../output/print-error.ts'
import { formatDuration } from '../output/text-table.ts'
import type { StarflowPlatformEvent } from '../platform/start-starflow-platform.ts'
import type { AttemptName, AttemptOutcome } from './attempt-outcome.ts'
import type { EndedRun } from './run-watch.ts'
import { attemptWords, parseWorkerLine, shortRunId, speakerOf, type WorkerLine, workerLineText } from './worker-line.ts'

export interface DevLogOptions {
  readonly output: Output
  /** The project's folder: places in the code are shown from there. */
  readonly root: string
  /** Show the life of the workers too, and what handlers log at level debug. */
  readonly verbose: boolean
  /** Asks the database what came of a failed attempt; undefined where it does not know. */
  readonly readOutcome: (name: AttemptName) => Promise<AttemptOutcome | undefined>
  /** Up to so many runs that ended at about the same time have a line each; more are counted. */
  readonly maxRunLines?: number
  /** How long after the last restart the count of restarts is told, if some never come back. */
  readonly restartPatienceMs?: number
}

type BootFailure = Extract<FunctionsEvent, { readonly type: 'function.boot_failed' }>
type Reload = Extract<FunctionsEvent, { readonly type: 'functions.reloaded' }>

/** Functions that a change has ended, until they listen again. */
interface Restart {
  /** The first file that has changed. */
  readonly path: string
  readonly since: number
  readonly awaited: Set<string>
  readonly seen: Set<string>
  timer?: NodeJS.Timeout
}

/**
 * What a person who edits flows reads: the words of handlers, failed attempts with their place and their retry, one line a
 * restart, and one error for one mistake. With `--json` every event is passed on as it is.
 */
export class DevLog {
  readonly #options: DevLogOptions
  readonly #waiting = new Set<() => void>()
  readonly #startedFunctions = new Set<string>()
  /** Boot failures while it is not known yet whether the flow modules themselves are broken. */
  #heldFailures: BootFailure[] | undefined
  #isBroken = false
  /** Places of boot failures that were told since the last change. */
  readonly #toldFailures = new Set<string>()
  #restart: Restart | undefined
  #isStopped = false

  constructor(options: DevLogOptions) {
    this.#options = options
  }

  /** Shows nothing more: the lines of workers that are being stopped do not help. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#restart?.timer)
    for (const look of this.#waiting) look()
  }

  /** Settles when each of these functions has started a worker or failed to, or after `timeoutMs`. True: all started. */
  async started(functions: readonly string[], timeoutMs: number): Promise<boolean> {
    const haveAll = () => functions.every((name) => this.#startedFunctions.has(name))
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#waiting.delete(look)
        resolve(haveAll())
      }
      const look = () => {
        if (haveAll() || this.#isStopped || this.#toldFailures.size > 0) end()
      }
      const timer = setTimeout(end, timeoutMs)
      this.#waiting.add(look)
      look()
    })
  }

  /** The flow modules are being evaluated: until {@link checked} a function that does not boot may be their fault. */
  checking(): void {
    this.#heldFailures ??= []
  }

  /** Ends {@link checking}. While modules are broken, functions that do not boot say nothing new. */
  checked(result: { readonly isBroken: boolean; readonly functions?: readonly string[] }): void {
    const held = this.#heldFailures ?? []
    this.#heldFailures = undefined
    this.#isBroken = result.isBroken
    if (result.isBroken) this.#endRestart()
    // Functions that no step needs any longer boot no more.
    for (const failure of held) if (result.functions?.includes(failure.name) !== false) this.#showBootFailure(failure)
  }

  readonly show = (event: StarflowPlatformEvent): void => {
    if (this.#isStopped) return
    if (this.#options.output.json) this.#passOn(event)
    switch (event.type) {
      case 'function.log':
        this.#showLine(event.name, event.line, event.level)
        break
      case 'function.boot_failed':
        if (this.#heldFailures === undefined) this.#showBootFailure(event)
        else this.#heldFailures.push(event)
        break
      case 'functions.reloaded':
        this.#noteReload(event)
        break
      case 'function.listening':
        this.#noteListening(event.name)
        break
      case 'cpu.unreported':
        this.#say('dev', `The CPU of workers is not written down for now: ${event.message}`, 'warn')
        break
    }
  }

  /** One line for each run that has ended, without what went in and came out. */
  readonly showEnded = (runs: readonly EndedRun[]): void => {
    if (this.#isStopped) return
    if (this.#options.output.json) {
      for (const run of runs) this.#options.output.result({ event: `run.${run.status}`, ...run })
    } else if (runs.length <= (this.#options.maxRunLines ?? 20)) {
      for (const run of runs) this.#say(run.flowSlug, endOf(run), run.status === 'failed' ? 'error' : 'info')
    } else this.#countEnded(runs)
  }

  #countEnded(runs: readonly EndedRun[]): void {
    const counts = new Map<string, { run: EndedRun; count: number }>()
    for (const run of runs) {
      const key = `${run.flowSlug} ${run.status}`
      counts.set(key, { run, count: (counts.get(key)?.count ?? 0) + 1 })
    }
    for (const { run, count } of counts.values()) {
      this.#say(run.flowSlug, `${count} runs ${run.status}`, run.status === 'failed' ? 'error' : 'info')
    }
  }

  #passOn(event: StarflowPlatformEvent): void {
    if (event.type === 'function.boot_failed') return
    const { type, ...fields } = event
    this.#options.output.result({ event: type, ...fields })
  }

  #showLine(functionName: string, text: string, level: 'info' | 'error'): void {
    const line = parseWorkerLine(text)
    if (line === undefined) {
      this.#say(functionName, text, level)
      return
    }
    if (line.event === 'worker.started') {
      this.#startedFunctions.add(functionName)
      for (const look of this.#waiting) look()
    }
    if (line.event === 'task.failed' && line.runId !== undefined) {
      void this.#showFailure(line)
      return
    }
    if (line.event === 'flow.option' && /^\d+ runs of the old definition were deleted/.test(line.message ?? '')) {
      if (!line.message!.startsWith('0 ')) this.#say(speakerOf(line), `local only: ${line.message}`, 'warn')
      return
    }
    if (this.#options.verbose || isForEverybody(line)) this.#say(speakerOf(line), workerLineText(line), line.level)
  }

  async #showFailure(line: WorkerLine): Promise<void> {
    const { runId, stepSlug, taskIndex = 0, attempt = 1 } = line
    const name = { runId: runId!, stepSlug: stepSlug ?? '', taskIndex, attempt }
    const outcome = await this.#options.readOutcome(name).catch(() => undefined)
    if (this.#isStopped) return
    const place = outcome?.errorStack == null ? undefined : ownFrame(outcome.errorStack, this.#options.root)
    const message = `${line.errorName ?? 'Error'}: ${line.errorMessage ?? 'see pgflow.task_attempts'}`
    const lines = [
      `failed: ${message}  ${attemptWords(line)}`,
      ...(place === undefined ? [] : [`  at ${place}`]),
      `  ${outcome === undefined ? 'More stands in pgflow.task_attempts.' : whatFollows(name, outcome)}`,
    ]
    this.#say(speakerOf(line), lines.join('\n'), 'error')
  }

  #showBootFailure({ error }: BootFailure): void {
    const { file, line } = error.fields as { file?: unknown; line?: unknown }
    // One mistake in a module keeps all functions that import it from booting, at each of their pings.
    const key = `${file}:${line} ${error.detail}`
    if (this.#isBroken || this.#toldFailures.has(key)) return
    this.#toldFailures.add(key)
    this.#endRestart()
    const { code, message, detail, fields } = error
    const hint = 'Save the file again; the workers restart by themselves.'
    printError(new StarflowError({ code, message, detail, hint, fields }), this.#options.output)
    for (const look of this.#waiting) look()
  }

  /** A generation that follows an edit writes files too: both are one restart. */
  #noteReload({ path, functions }: Reload): void {
    this.#toldFailures.clear()
    if (functions.length === 0) return
    this.#restart ??= { path, since: Date.now(), awaited: new Set(), seen: new Set() }
    clearTimeout(this.#restart.timer)
    for (const name of functions) {
      this.#restart.awaited.add(name)
      this.#restart.seen.delete(name)
    }
  }

  #noteListening(name: string): void {
    const restart = this.#restart
    if (!restart?.awaited.delete(name)) return
    restart.seen.add(name)
    clearTimeout(restart.timer)
    if (restart.awaited.size === 0) this.#tellRestart()
    else restart.timer = setTimeout(() => this.#tellRestart(), this.#options.restartPatienceMs ?? 3_000).unref()
  }

  #tellRestart(): void {
    const restart = this.#restart
    if (restart === undefined) return
    this.#endRestart()
    const workers = restart.seen.size === 1 ? '1 worker' : `${restart.seen.size} workers`
    const took = formatDuration(Date.now() - restart.since)
    const { output } = this.#options
    output.line(output.colors.dim(`${basename(restart.path)} changed: ${workers} restarted in ${took}`))
  }

  #endRestart(): void {
    clearTimeout(this.#restart?.timer)
    this.#restart = undefined
  }

  #say(speaker: string, text: string, level: WorkerLine['level']): void {
    const { output } = this.#options
    const paint = { error: output.colors.red, warn: output.colors.yellow }[level as string] ?? ((part: string) => part)
    const mark = level === 'warn' ? 'WARN ' : level === 'error' ? 'ERROR ' : ''
    output.line(`${output.colors.dim(speaker)}  ${paint(`${mark}${text}`)}`)
  }
}

/** The life of workers is of interest to those who ask; their trouble is to everybody. */
function isForEverybody({ level, event }: WorkerLine): boolean {
  if (level === 'warn' || level === 'error') return true
  return level === 'info' && !/^(worker|task)\./.test(event) && event !== 'flow.draining' && event !== 'flow.compiled'
}

function whatFollows({ attempt }: AttemptName, outcome: AttemptOutcome): string {
  if (outcome.retryInSeconds !== undefined) {
    return `retry ${attempt + 1} of ${outcome.maxAttempts} in ${Math.ceil(outcome.retryInSeconds)} s`
  }
  return `that was attempt ${attempt} of ${outcome.maxAttempts}`
}

function endOf({ runId, status, durationMs, failedStep }: EndedRun): string {
  const run = `run ${shortRunId(runId)} ${status}`
  const took = formatDuration(durationMs)
  if (status === 'completed') return `${run} in ${took}`
  return failedStep === null ? `${run} after ${took}` : `${run} at step ${failedStep} after ${took}`
}

/** The first frame in the project that is not a dependency's: `supabase/functions/_flows/orders.ts:12:5`. */
function ownFrame(stack: string, root: string): string | undefined {
  for (const [, url, line, column] of stack.matchAll(/(file:\/\/[^\s"')]+?):(\d+):(\d+)/g)) {
    const file = relative(root, fileURLToPath(url as string))
    if (!/^\.\.|(^|[\\/])node_modules[\\/]|^packages[\\/](edge-worker|dsl|core|local)[\\/]src/.test(file)) {
      return `${file}:${line}:${column}`
    }
  }
  return undefined
}
