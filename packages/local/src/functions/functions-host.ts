import { existsSync, statSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { StarflowError } from '@starflow/errors'
import { ChangedFiles } from './changed-files.ts'
import { resolveDenoBinary } from './deno-binary.ts'
import { answer, FUNCTION_ANSWERS, forwardRequest } from './function-proxy.ts'
import { type FunctionSource, findFunction, findProjectDir } from './function-source.ts'
import { FunctionWatcher } from './function-watcher.ts'
import type { FunctionsEventListener } from './functions-event.ts'
import { Isolate } from './isolate.ts'
import { type IsolateLimits, resolveIsolateLimits } from './isolate-limits.ts'
import { ModuleGraphs } from './module-graphs.ts'
import { sampleProcesses } from './process-usage.ts'

export interface FunctionsHostOptions {
  /** Folder with one folder per edge function, each with an `index.ts`. */
  readonly functionsDir: string
  /** What isolates may read. Default: the nearest folder at or above `functionsDir` with node_modules or package.json. */
  readonly projectDir?: string
  /** What the platform keeps, its secrets among it: isolates may not read it. */
  readonly stateDir?: string
  /** Environment of every isolate, to which SB_EXECUTION_ID and STARFLOW_WALL_CLOCK_MS are added. Nothing else is in it. */
  readonly env?: Readonly<Record<string, string>>
  readonly limits?: Partial<IsolateLimits>
  /** Path of a Deno binary, 2.1 or later. Default: the one of the npm package `deno`. */
  readonly deno?: string
  /** Folder of Deno's cache. Default: one in the system's temporary folder. */
  readonly denoDir?: string
  /**
   * True: after a change of a file below `functionsDir` the functions that are made of it boot anew, and their old isolates
   * end (with `beforeunload` and grace) once the new ones listen; requests wait for that. Code that does not boot leaves the
   * old isolate as it was. A list: changes below these folders too, for modules that functions import from elsewhere.
   */
  readonly watch?: boolean | readonly string[]
  readonly onEvent?: FunctionsEventListener
}

/** A running isolate, as seen from outside. */
export interface IsolateInfo {
  readonly id: string
  readonly name: string
  readonly pid: number
  readonly startedAt: Date
  /** CPU time since boot, as of the last sample. */
  readonly cpuMs: number
  readonly requestsInFlight: number
  readonly isRetired: boolean
}

/** Milliseconds between two looks at what the isolates use. */
const SAMPLE_INTERVAL_MS = 200
/** How often changed code is booted before its old isolate is left to go on. */
const MAX_REPLACING_BOOTS = 2
/** How many isolates one request may meet that end before they take it. */
const MAX_FORWARDS = 3

/**
 * Runs edge functions as Supabase's edge runtime does under its default policy: one isolate (here: one Deno process) per
 * function takes many requests, within limits, and is replaced by a fresh one when it is retired or gone.
 */
export class FunctionsHost {
  readonly limits: IsolateLimits
  readonly #options: FunctionsHostOptions
  readonly #functionsDir: string
  readonly #projectDir: string
  readonly #deno: string
  readonly #denoDir: string
  readonly #onEvent: FunctionsEventListener
  readonly #graphs: ModuleGraphs
  readonly #watcher: FunctionWatcher | undefined
  /** The isolate that takes new requests, by function; there from the first moment of its boot. */
  readonly #current = new Map<string, Isolate>()
  /** Isolates with changed code, by function, until it is known whether they boot. */
  readonly #replacements = new Map<string, Promise<void>>()
  /** All that are not gone, retired ones too. */
  readonly #isolates = new Set<Isolate>()
  #reloads = Promise.resolve()
  #sampler: NodeJS.Timeout | undefined
  #isSampling = false
  #isStopped = false

  /** Throws SF001 for options that make no sense and SF512 where there is no Deno. */
  constructor(options: FunctionsHostOptions) {
    this.#options = options
    this.limits = resolveIsolateLimits(options.limits)
    this.#functionsDir = resolve(options.functionsDir)
    if (!isFolder(this.#functionsDir)) {
      throw new StarflowError({
        code: 'SF001',
        message: `There is no folder of edge functions at ${this.#functionsDir}.`,
        detail: 'It holds one folder for each function.',
        hint: 'Create it, or give another folder as functionsDir.',
      })
    }
    this.#projectDir = resolve(options.projectDir ?? findProjectDir(this.#functionsDir))
    this.#deno = options.deno ?? resolveDenoBinary()
    if (!existsSync(this.#deno)) {
      throw new StarflowError({
        code: 'SF512',
        message: `There is no Deno binary at ${this.#deno}.`,
        detail: 'Each isolate is a Deno process of its own.',
        hint: 'Correct the option `deno`, or leave it out to get the one of the npm package.',
      })
    }
    this.#denoDir = options.denoDir ?? join(tmpdir(), 'starflow-deno')
    this.#graphs = new ModuleGraphs({ deno: this.#deno, denoDir: this.#denoDir, projectDir: this.#projectDir })
    this.#onEvent = options.onEvent ?? (() => {})
    this.#watcher = this.#createWatcher(options.watch ?? false)
  }

  /** Starts watching, if asked to. Isolates start with the first request of their function. */
  start(): void {
    this.#isStopped = false
    this.#watcher?.start()
  }

  /** Ends all isolates with `beforeunload` and grace. When it settles none of their processes lives. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#watcher?.stop()
    // Again, since a request may have been at the point of booting one.
    while (this.#isolates.size > 0) {
      await Promise.all([...this.#isolates].map((isolate) => isolate.terminate('termination')))
    }
    clearInterval(this.#sampler)
    this.#sampler = undefined
  }

  /** The isolates whose process lives, oldest first. */
  isolates(): IsolateInfo[] {
    return [...this.#isolates].map(({ id, name, pid, startedAt, cpuMs, requestsInFlight, isRetired }) => ({
      id,
      name,
      pid,
      startedAt,
      cpuMs,
      requestsInFlight,
      isRetired,
    }))
  }

  /** Kills one isolate without telling it, and settles when it is gone; false where there is none of that id. */
  async killIsolate(id: string): Promise<boolean> {
    const isolate = [...this.#isolates].find((each) => each.id === id)
    if (isolate === undefined) return false
    await isolate.kill('killed')
    return true
  }

  /** Answers a request for the function `name`; `rest` is what follows the name in the URL, with its query. */
  async handle(incoming: IncomingMessage, outgoing: ServerResponse, name: string, rest: string): Promise<void> {
    for (let attempt = 1; attempt <= MAX_FORWARDS && !this.#isStopped; attempt++) {
      await this.#replaced(name)
      if (this.#isStopped) break
      const isolate = this.#isolateFor(name)
      if (isolate === undefined) {
        outgoing.writeHead(404, { 'content-type': 'text/plain' }).end('Function not found')
        return
      }
      try {
        await isolate.ready
      } catch {
        // Ended while it booted for a reason that is not its own: the next one may do better.
        if (isolate.exitReason !== 'boot_error' && attempt < MAX_FORWARDS && !this.#isStopped) continue
        break
      }
      if (isolate.isRetired) continue
      const result = await forwardRequest(isolate, incoming, outgoing, `/${name}${rest}`, this.limits.requestIdleMs)
      if (result === 'answered') return
      if (this.#current.get(name) === isolate) this.#current.delete(name)
    }
    answer(outgoing, FUNCTION_ANSWERS.bootError)
  }

  /** The one isolate for new requests of a function. It is there before it is ready, so two requests boot one. */
  #isolateFor(name: string): Isolate | undefined {
    const current = this.#current.get(name)
    if (current !== undefined) return current
    const source = this.#sourceOf(name)
    if (source === undefined) return undefined
    const isolate = this.#boot(source)
    this.#current.set(name, isolate)
    return isolate
  }

  #sourceOf(name: string): FunctionSource | undefined {
    return findFunction(this.#functionsDir, this.#projectDir, name)
  }

  #boot(source: FunctionSource): Isolate {
    const { name } = source
    const isolate = new Isolate({
      source,
      projectDir: this.#projectDir,
      stateDir: this.#options.stateDir,
      deno: this.#deno,
      denoDir: this.#denoDir,
      env: this.#options.env ?? {},
      limits: this.limits,
      onEvent: this.#tell,
      onRetired: (retired) => {
        if (this.#current.get(name) === retired) this.#current.delete(name)
      },
    })
    this.#isolates.add(isolate)
    void isolate.exited.then(() => this.#isolates.delete(isolate))
    this.#sampler ??= setInterval(() => void this.#sample(), SAMPLE_INTERVAL_MS).unref()
    return isolate
  }

  async #sample(): Promise<void> {
    if (this.#isSampling) return
    this.#isSampling = true
    const isolates = [...this.#isolates]
    const usages = await sampleProcesses(isolates.map(({ pid }) => pid))
    for (const isolate of isolates) {
      const usage = usages.get(isolate.pid)
      if (usage !== undefined) isolate.observe(usage)
    }
    this.#isSampling = false
  }

  /** What keeps a function from booting may be a change that is not told yet: then the change is told first. */
  readonly #tell: FunctionsEventListener = (event) => {
    if (event.type === 'function.boot_failed' && this.#watcher !== undefined) {
      void this.#changesTold(this.#watcher).then(() => this.#onEvent(event))
    } else this.#onEvent(event)
  }

  async #changesTold(watcher: FunctionWatcher): Promise<void> {
    await watcher.settled()
    await this.#reloads
  }

  #createWatcher(watch: boolean | readonly string[]): FunctionWatcher | undefined {
    if (watch === false) return undefined
    const more = watch === true ? [] : watch.map((folder) => resolve(folder))
    return new FunctionWatcher({ folders: [this.#functionsDir, ...more], onChange: this.#noticed })
  }

  /** One after the other, so that they are told in their order. */
  readonly #noticed = (paths: readonly string[]): void => {
    this.#reloads = this.#reloads.then(() => this.#reload(paths))
  }

  async #reload(paths: readonly string[]): Promise<void> {
    const changed = new ChangedFiles(paths, this.#functionsDir)
    // One that boots from here on reads what there is now.
    const isolates = [...this.#isolates].filter(({ isRetired }) => !isRetired)
    const concerned = await this.#graphs.concernedBy(
      changed,
      isolates.map(({ source }) => source),
    )
    if (this.#isStopped) return
    this.#onEvent({ type: 'functions.reloaded', path: paths.at(-1)!, functions: [...concerned].sort() })
    for (const isolate of isolates) if (concerned.has(isolate.name)) this.#renew(isolate)
  }

  /** Its code has changed. One that listens goes on until a fresh one does; one that boots has read old files, maybe. */
  #renew(isolate: Isolate): void {
    if (isolate.isRetired) return
    const source = this.#sourceOf(isolate.name)
    if (source === undefined || isolate.port === 0) void isolate.terminate('reload')
    else this.#replace(isolate.name, source)
  }

  #replace(name: string, source: FunctionSource): void {
    const settled = this.#takeOver(source)
    this.#replacements.set(name, settled)
    void settled.then(() => {
      if (this.#replacements.get(name) === settled) this.#replacements.delete(name)
    })
  }

  /**
   * An isolate that does not boot has told why, and the older one goes on. It is tried once more where that was not for its code: many
   * that boot at once may be too slow, and nothing would try it again before the next change.
   */
  async #takeOver(source: FunctionSource): Promise<void> {
    const olderOnes = [...this.#isolates].filter((each) => each.name === source.name)
    for (let boot = 1; boot <= MAX_REPLACING_BOOTS && !this.#isStopped; boot++) {
      const fresh = this.#boot(source)
      const listens = await fresh.ready.then(
        () => true,
        () => false,
      )
      // One that a later change has ended is that change's to replace.
      if (!listens && !fresh.refusesToLoad && fresh.exitReason !== 'reload') continue
      if (!listens || fresh.isRetired) return
      this.#current.set(source.name, fresh)
      for (const older of olderOnes) if (!older.isRetired) void older.terminate('reload')
      return
    }
  }

  /** Settles when no replacement of the function boots any more. */
  async #replaced(name: string): Promise<void> {
    while (this.#replacements.has(name)) await this.#replacements.get(name)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
