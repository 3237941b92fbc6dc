import { type FSWatcher, watch } from 'node:fs'
import { sep } from 'node:path'

export interface FunctionWatcherOptions {
  readonly folders: readonly string[]
  /** Called once for changes that come within `debounceMs` of one another, with the path of the last one. */
  readonly onChange: (path: string) => void
  readonly debounceMs?: number
}

/** Watches folders and what is below them. Changes below `node_modules` and of hidden files do not count. */
export class FunctionWatcher {
  readonly #options: FunctionWatcherOptions
  #watchers: FSWatcher[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(options: FunctionWatcherOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#watchers.length > 0) return
    this.#watchers = this.#options.folders.map((folder) => {
      const watcher = watch(folder, { recursive: true }, (_event, file) => this.#noticed(file ?? '', folder))
      // A folder that vanishes while it is watched must not end the process.
      return watcher.on('error', () => {})
    })
  }

  stop(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
  }

  #noticed(file: string, folder: string): void {
    if (file.split(sep).some((part) => part === 'node_modules' || part.startsWith('.'))) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#options.onChange(`${folder}${sep}${file}`), this.#options.debounceMs ?? 100)
  }
}
