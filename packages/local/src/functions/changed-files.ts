import { statSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { type FunctionSource, isFunctionName } from './function-source.ts'
import { realPath } from './real-path.ts'

const MODULE = /\.[cm]?[jt]sx?$/

/** Files and folders that were changed, made, moved or removed at about the same time. */
export class ChangedFiles {
  readonly #paths: readonly string[]
  /** Data that belongs to no function: any of them may read it. */
  readonly #haveSharedData: boolean

  constructor(paths: readonly string[], functionsDir: string) {
    this.#paths = paths.map(realPath)
    const root = realPath(functionsDir)
    this.#haveSharedData = this.#paths.some(
      (path) => isData(path) && !isFunctionName(relative(root, path).split(sep)[0]!),
    )
  }

  /** Whether a function has to be started anew that is made of these files; undefined when that is not known. */
  concern(source: FunctionSource, graph: ReadonlySet<string> | undefined): boolean {
    if (this.#haveSharedData || graph === undefined) return true
    // What lies beside its entry is a function's own: it may read it, or import it by a name that it computes.
    const own = realPath(dirname(source.entry))
    return this.#paths.some((path) => contains(own, path) || [...graph].some((file) => contains(path, file)))
  }
}

function isData(path: string): boolean {
  return !MODULE.test(path) && (statSync(path, { throwIfNoEntry: false })?.isFile() ?? false)
}

/** Whether a path is another one, or lies below it. */
function contains(path: string, inner: string): boolean {
  return inner === path || inner.startsWith(`${path}${sep}`)
}
