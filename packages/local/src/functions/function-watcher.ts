import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join, sep } from 'node:path'

export interface FunctionWatcherOptions {
  readonly folders: readonly string[]
  /** Called once for changes that come within `debounceMs` of one another, with their paths, the last one last. */
  readonly onChange: (paths: readonly string[]) => void
  readonly debounceMs?: number
}

/**
 * Watches folders and what is below them. Changes below `node_modules`, of hidden files and of editors' backups do not count.
 *
 * Each folder has a watcher of its own: Node's recursive one watches files on Linux, and loses a file that is replaced by a
 * rename, which is how most editors, git and `sed -i` save.
 */
export class FunctionWatcher {
  readonly #options: FunctionWatcherOptions
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #changed = new Set<string>()
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: FunctionWatcherOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#watchers.size > 0) return
    for (const folder of this.#options.folders) this.#watch(folder)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#changed.clear()
    this.#letGo()
    for (const folder of [...this.#watchers.keys()]) this.#unwatch(folder)
  }

  /** Settles when each change that has happened up to now was told. */
  async settled(): Promise<void> {
    // The system's word of a change may lie unread in this turn of the loop.
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#changed.size > 0) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  /** Watches a folder and all below it; those that are watched already stay as they are. */
  #watch(folder: string): void {
    let children: string[]
    try {
      // Watched before it is listed, so that what appears in between is not missed.
      if (!this.#watchers.has(folder)) this.#watchers.set(folder, this.#createWatcher(folder))
      children = readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && counts(entry.name))
        .map(({ name }) => join(folder, name))
    } catch {
      // A folder may vanish at any moment, and a path may be a file.
      return
    }
    for (const child of children) this.#watch(child)
  }

  #createWatcher(folder: string): FSWatcher {
    const watcher = watch(folder, (event, file) => this.#noticed(event, join(folder, file ?? ''), file ?? ''))
    return watcher.on('error', () => this.#unwatch(folder))
  }

  /** Closes the watchers of a folder and of all below it. */
  #unwatch(folder: string): void {
    for (const [path, watcher] of this.#watchers) {
      if (path !== folder && !path.startsWith(`${folder}${sep}`)) continue
      watcher.close()
      this.#watchers.delete(path)
    }
  }

  #noticed(event: string, path: string, file: string): void {
    if (!counts(file)) return
    if (event === 'rename') {
      // A folder of this name may be gone, new, or another one than before: an old watcher would watch what was removed.
      this.#unwatch(path)
      if (isFolder(path)) this.#watch(path)
    }
    this.#changed.delete(path)
    this.#changed.add(path)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#tell(), this.#options.debounceMs ?? 100)
  }

  #tell(): void {
    const paths = [...this.#changed]
    this.#changed.clear()
    this.#options.onChange(paths)
    this.#letGo()
  }

  #letGo(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

function counts(name: string): boolean {
  return name !== 'node_modules' && !name.startsWith('.') && !name.endsWith('~')
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
