import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { StarflowError } from '@starflow/errors'
import { killAtExit } from '../processes/end-at-exit.ts'
import { bootFailure, silentBootFailure } from './boot-failure.ts'
import { type FunctionSource, readableFolders, secretPaths } from './function-source.ts'
import type {
  ExitReason,
  FunctionsEvent,
  FunctionsEventListener,
  RetireReason,
  UnloadReason,
} from './functions-event.ts'
import {
  BEFOREUNLOAD_RATIO,
  type IsolateLimits,
  RETIRE_MEMORY_RATIO,
  RETIRE_WALL_CLOCK_RATIO,
} from './isolate-limits.ts'
import { type ProcessUsage, sampleProcesses } from './process-usage.ts'
import type { RunnerCommand, RunnerConfig, RunnerMessage } from './runner.ts'

export interface IsolateOptions {
  readonly source: FunctionSource
  readonly projectDir: string
  /** Folder that it may not read; undefined: none but what {@link secretPaths} names. */
  readonly stateDir: string | undefined
  readonly deno: string
  /** Folder of Deno's cache of transpiled modules. */
  readonly denoDir: string
  readonly env: Readonly<Record<string, string>>
  readonly limits: IsolateLimits
  readonly onEvent: FunctionsEventListener
  /** Called once when no further request may reach this isolate. */
  readonly onRetired: (isolate: Isolate) => void
}

/** One process that runs one edge function, under the limits of the edge runtime. */
export class Isolate {
  readonly id = randomUUID()
  readonly name: string
  readonly startedAt = new Date()
  /** Settles when the function listens; rejects with SF511. */
  readonly ready: Promise<void>
  /** Settles when the process is gone and all its output was read. */
  readonly exited: Promise<ExitReason>

  readonly #options: IsolateOptions
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #mark = `\u0001${randomUUID()} `
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #unloads = new Set<UnloadReason>()
  readonly #born = performance.now()
  readonly #becomeReady: () => void
  readonly #failReady: (error: StarflowError) => void
  #port = 0
  #requests = 0
  #inFlight = 0
  #pending = 0
  #cpuMs = 0
  #usageAtBoot: ProcessUsage | undefined
  #retired: RetireReason | 'exited' | undefined
  #ending: ExitReason | undefined
  #exitReason: ExitReason | undefined
  #isGone = false
  #refusesToLoad = false
  #ranOutOfMemory = false
  /** It answered the last `beforeunload` it gets: from here on nothing but open promises and requests keeps it. */
  #mayEnd = false

  constructor(options: IsolateOptions) {
    this.#options = options
    this.name = options.source.name
    let becomeReady!: () => void
    let failReady!: (error: StarflowError) => void
    this.ready = new Promise((resolve, reject) => {
      becomeReady = resolve
      failReady = reject
    })
    this.#becomeReady = becomeReady
    this.#failReady = failReady
    // Whoever waits for it sees the rejection; nobody has to wait.
    this.ready.catch(() => {})
    this.#process = this.#spawn()
    this.#read()
    this.exited = this.#watchExit()
    this.#setTimers()
    if (this.#process.pid !== undefined) this.#emit({ type: 'function.booted', pid: this.pid })
  }

  get source(): FunctionSource {
    return this.#options.source
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  get port(): number {
    return this.#port
  }

  /** CPU time since boot, as of the last sample. */
  get cpuMs(): number {
    return this.#cpuMs
  }

  get requestsInFlight(): number {
    return this.#inFlight
  }

  get isRetired(): boolean {
    return this.#retired !== undefined
  }

  /** Its code says that it cannot be loaded. Anything else that keeps an isolate from listening may be another one's luck. */
  get refusesToLoad(): boolean {
    return this.#refusesToLoad
  }

  /** Why the process was ended, or ended; undefined while it lives and nobody ended it. */
  get exitReason(): ExitReason | undefined {
    return this.#exitReason
  }

  /** Counts a request in; the returned function counts it out, once. */
  beginRequest(): () => void {
    this.#requests++
    this.#inFlight++
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#inFlight--
      this.#endIfIdle()
    }
  }

  /** No further request reaches this isolate; it ends as soon as nothing is left to do. */
  retire(reason: RetireReason): void {
    if (this.#retired !== undefined) return
    this.#retired = reason
    this.#options.onRetired(this)
    this.#emit({ type: 'function.retired', reason })
    this.#endIfIdle()
  }

  /** Retires, dispatches `beforeunload`, and kills when nothing is left to do or the grace is over. */
  terminate(reason: 'termination' | 'reload'): Promise<ExitReason> {
    if (this.#ending !== undefined || this.#isGone) return this.exited
    // Before it is retired, which would ask an idle isolate to drop itself and tell it twice.
    this.#ending = reason
    this.retire(reason)
    if (this.#port === 0) this.kill(reason)
    else this.#unload('termination')
    this.#after(this.#options.limits.terminationGraceMs, () => this.kill(reason))
    return this.exited
  }

  /** Ends the process at once, without telling it. */
  kill(reason: ExitReason): Promise<ExitReason> {
    this.#exitReason ??= reason
    this.#leave()
    this.#process.kill('SIGKILL')
    return this.exited
  }

  /** Applies the CPU and memory limits to what was measured from outside. */
  observe(usage: ProcessUsage): void {
    if (this.#usageAtBoot === undefined || this.#isGone) return
    const { cpuSoftMs, cpuHardMs, memoryMb } = this.#options.limits
    this.#cpuMs = Math.max(this.#cpuMs, usage.cpuMs - this.#usageAtBoot.cpuMs)
    const usedMb = usage.memoryMb - this.#usageAtBoot.memoryMb

    // Between two samples a limit may be crossed from below 90 %: it is told first all the same, and killed at the next.
    if (this.#cpuMs >= cpuHardMs && this.#unloads.has('cpu')) return void this.kill('cpu')
    if (usedMb >= memoryMb && this.#unloads.has('memory')) return void this.kill('memory')
    if (this.#cpuMs >= cpuHardMs * BEFOREUNLOAD_RATIO) this.#unload('cpu')
    if (usedMb >= memoryMb * BEFOREUNLOAD_RATIO) this.#unload('memory')
    if (this.#cpuMs >= cpuSoftMs) this.retire('cpu')
    if (usedMb >= memoryMb * RETIRE_MEMORY_RATIO) this.retire('memory')
  }

  #spawn(): ChildProcessByStdio<Writable, Readable, Readable> {
    const { source, projectDir, stateDir, deno, denoDir, env, limits } = this.#options
    const functionEnv = {
      ...env,
      SB_EXECUTION_ID: this.id,
      STARFLOW_WALL_CLOCK_MS: String(limits.wallClockMs),
    }
    const config: RunnerConfig = {
      entry: pathToFileURL(source.entry).href,
      mark: this.#mark,
      env: Object.keys(functionEnv),
    }
    const folders = readableFolders(source, projectDir)
    const args = [
      'run',
      '--quiet',
      '--no-prompt',
      '--no-lock',
      '--cached-only',
      '--node-modules-dir=manual',
      ...(source.config === undefined ? ['--no-config'] : ['--config', source.config]),
      '--allow-net',
      '--allow-env',
      '--allow-sys',
      `--allow-read=${folders.join(',')}`,
      `--deny-read=${secretPaths(folders, stateDir).join(',')}`,
      '--deny-write',
      '--deny-run',
      '--deny-ffi',
      `--v8-flags=--max-old-space-size=${Math.ceil(limits.memoryMb)}`,
      runnerPath(),
      JSON.stringify(config),
    ]
    // The limit of the system stands behind ours: a function that loops cannot read that its host was killed.
    const cpuSeconds = Math.ceil((limits.bootTimeoutMs + limits.cpuHardMs) / 1000) + 1
    return spawn('/bin/sh', ['-c', `ulimit -t ${cpuSeconds}; exec "$0" "$@"`, deno, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      cwd: projectDir,
      // Its own process group: Ctrl-C reaches the host, and the host ends its isolates in good order.
      detached: true,
      env: { ...functionEnv, DENO_DIR: denoDir, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
    })
  }

  #read(): void {
    // A write may meet a process that ended a moment ago.
    this.#process.stdin.on('error', () => {})
    createInterface({ input: this.#process.stdout }).on('line', (line) => {
      const at = line.indexOf(this.#mark)
      if (at !== 0) this.#log('info', at === -1 ? line : line.slice(0, at))
      if (at !== -1) void this.#hear(JSON.parse(line.slice(at + this.#mark.length)) as RunnerMessage)
    })
    createInterface({ input: this.#process.stderr }).on('line', (line) => {
      if (/heap out of memory|Reached heap limit/.test(line)) this.#ranOutOfMemory = true
      this.#log('error', line)
    })
  }

  async #hear(message: RunnerMessage): Promise<void> {
    switch (message.is) {
      case 'listening': {
        const usage = (await sampleProcesses([this.pid])).get(this.pid)
        if (this.#isGone) return
        this.#usageAtBoot = usage
        this.#port = message.port
        const bootMs = Math.round(performance.now() - this.#born)
        this.#emit({ type: 'function.listening', pid: this.pid, bootMs })
        this.#becomeReady()
        return
      }
      case 'boot_failed':
        this.#refusesToLoad = true
        return this.#failBoot(bootFailure(this.name, this.#folders(), message))
      case 'pending':
        this.#pending = message.pending
        return this.#endIfIdle()
      case 'unloaded':
        this.#pending = message.pending
        if (message.reason === 'termination') this.#mayEnd = true
        if (message.reason === 'early_drop') {
          this.#emit({ type: 'function.unloading', reason: 'early_drop' })
          this.#mayEnd = true
          this.#ending ??= 'early_drop'
          this.#after(this.#options.limits.terminationGraceMs, () => this.kill('early_drop'))
        }
        return this.#endIfIdle()
    }
  }

  /** Ends what has nothing left to do, or asks it whether that is so. */
  #endIfIdle(): void {
    if (this.#retired === undefined || this.#inFlight > 0 || this.#port === 0 || this.#isGone) return
    if (this.#ending === undefined) this.#send({ command: 'drop' })
    else if (this.#pending === 0 && this.#mayEnd) void this.kill(this.#ending)
  }

  #unload(reason: UnloadReason): void {
    if (this.#unloads.has(reason) || this.#isGone) return
    this.#unloads.add(reason)
    this.#emit({ type: 'function.unloading', reason })
    this.#send({ command: 'unload', reason })
  }

  #folders() {
    const { projectDir, source } = this.#options
    return { projectDir, functionsDir: dirname(dirname(source.entry)) }
  }

  #failBoot(error: StarflowError): void {
    if (this.#port !== 0) return
    this.#emit({ type: 'function.boot_failed', error })
    this.#failReady(error)
    void this.kill('boot_error')
  }

  /** The next request boots a fresh isolate; without the event, since it is gone or as good as gone. */
  #leave(): void {
    if (this.#retired !== undefined) return
    this.#retired = 'exited'
    this.#options.onRetired(this)
  }

  #setTimers(): void {
    const { wallClockMs, bootTimeoutMs } = this.#options.limits
    this.#after(bootTimeoutMs, () =>
      this.#failBoot(silentBootFailure(this.name, `It did not listen within ${bootTimeoutMs} ms.`)),
    )
    this.#after(wallClockMs * RETIRE_WALL_CLOCK_RATIO, () => this.retire('wall_clock'))
    this.#after(wallClockMs * BEFOREUNLOAD_RATIO, () => this.#unload('wall_clock'))
    this.#after(wallClockMs, () => this.kill('wall_clock'))
  }

  async #watchExit(): Promise<ExitReason> {
    const letGo = killAtExit(this.#process.pid, 'SIGKILL')
    const [code, signal] = await once(this.#process, 'close').catch((error: Error) => {
      this.#failBoot(silentBootFailure(this.name, `The process could not be started: ${error.message}`))
      return [null, null]
    })
    letGo()
    this.#isGone = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#leave()
    if (this.#port === 0 && this.#exitReason === undefined) {
      this.#failBoot(
        silentBootFailure(this.name, `The process ended (${signal ?? `code ${code}`}) before it listened.`),
      )
    }
    this.#failReady(silentBootFailure(this.name, 'The process was ended before it listened.'))
    const reason = this.#exitReason ?? this.#reasonOf(signal)
    this.#exitReason = reason
    this.#emit({
      type: 'function.exited',
      reason,
      cpuMs: this.#cpuMs,
      lifetimeMs: Math.round(performance.now() - this.#born),
      requests: this.#requests,
    })
    return reason
  }

  #reasonOf(signal: NodeJS.Signals | null): ExitReason {
    if (this.#ranOutOfMemory) return 'memory'
    if (signal === 'SIGXCPU') return 'cpu'
    return signal === 'SIGKILL' ? 'killed' : 'error'
  }

  #send(command: RunnerCommand): void {
    this.#process.stdin.write(`${JSON.stringify(command)}\n`)
  }

  #log(level: 'info' | 'error', line: string): void {
    this.#emit({ type: 'function.log', level, line: line.slice(0, MAX_LOG_LINE) })
  }

  #emit(event: IsolateEvent): void {
    this.#options.onEvent({ ...event, name: this.name, id: this.id } as FunctionsEvent)
  }

  #after(ms: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      action()
    }, ms)
    timer.unref()
    this.#timers.add(timer)
  }
}

/** Hosted projects cut a log message at this length. */
const MAX_LOG_LINE = 10_000

type WithoutIsolate<TEvent> = TEvent extends { readonly id: string } ? Omit<TEvent, 'name' | 'id'> : never
type IsolateEvent = WithoutIsolate<FunctionsEvent>

function runnerPath(): string {
  // Sources run as they are here; what is packed has JavaScript, which is all that Deno takes below node_modules.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return fileURLToPath(new URL(`./runner.${extension}`, import.meta.url))
}
