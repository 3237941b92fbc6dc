import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ChangedFiles } from './changed-files.ts'
import type { FunctionSource } from './function-source.ts'
import { realPath } from './real-path.ts'

interface ModuleGraphOptions {
  readonly deno: string
  readonly denoDir: string
  readonly projectDir: string
}

/** Each look starts a Deno; a computer of few processors is busy enough with two. */
const LOOKS_AT_ONCE = 2
const PATIENCE_MS = 20_000
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** Which files each function is made of, as far as somebody asked: a look takes a tenth of a second. */
export class ModuleGraphs {
  readonly #options: ModuleGraphOptions
  readonly #known = new Map<string, { readonly source: FunctionSource; readonly graph: ReadonlySet<string> }>()

  constructor(options: ModuleGraphOptions) {
    this.#options = options
  }

  /**
   * The names of those functions that are made of what has changed.
   *
   * The graphs are read after the change, and that is right: where a module of the old graph has changed, each module on the
   * way to the first one of these is as it was, so the way is in the new graph too. For the same reason a graph stays true
   * until one of its files changes.
   */
  async concernedBy(changed: ChangedFiles, sources: readonly FunctionSource[]): Promise<ReadonlySet<string>> {
    const concerned = new Set<string>()
    const left = [...new Map(sources.map((source) => [source.name, source])).values()]
    const look = async () => {
      for (let source = left.pop(); source !== undefined; source = left.pop()) {
        const graph = this.#known.get(source.name)?.graph ?? (await readModuleGraph(source, this.#options))
        if (graph !== undefined) this.#known.set(source.name, { source, graph })
        if (changed.concern(source, graph)) concerned.add(source.name)
      }
    }
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, look))
    // Also of those that were not asked about.
    for (const [name, { source, graph }] of this.#known) if (changed.concern(source, graph)) this.#known.delete(name)
    return concerned
  }
}

/**
 * The files that a function is made of: its modules, as Deno resolves them now, and its deno.json. A file that is imported
 * and not there is one of them. Paths are real ones. Undefined where Deno does not tell.
 *
 * Modules of packages and of other hosts are left out: they do not change while somebody edits.
 */
async function readModuleGraph(
  source: FunctionSource,
  { deno, denoDir, projectDir }: ModuleGraphOptions,
): Promise<ReadonlySet<string> | undefined> {
  const config = source.config === undefined ? ['--no-config'] : ['--config', source.config]
  const args = ['info', '--json', '--quiet', '--no-remote', '--no-lock', '--node-modules-dir=manual', ...config]
  try {
    const { stdout } = await promisify(execFile)(deno, [...args, source.entry], {
      cwd: projectDir,
      env: { DENO_DIR: denoDir, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
      timeout: PATIENCE_MS,
      maxBuffer: MAX_ANSWER_BYTES,
    })
    const { modules } = JSON.parse(stdout) as { modules: readonly { readonly specifier: string }[] }
    const files = modules.flatMap(({ specifier }) => (specifier.startsWith('file:') ? [fileURLToPath(specifier)] : []))
    return new Set([...files, ...(source.config === undefined ? [] : [source.config])].map(realPath))
  } catch {
    return undefined
  }
}
