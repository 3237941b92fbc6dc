import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type GenerateOptions, generateFunctions } from '../../src/functions/generate.command.ts'
import { createOutput } from '../../src/output/output.ts'

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url))

/**
 * A project in a folder of its own, below the repository and outside of .starflow, which functions may not read: there it sees the repository's packages,
 * and worker functions may read them.
 */
export class SampleProject {
  readonly root: string

  constructor(files: Readonly<Record<string, string>> = {}) {
    const parent = join(REPOSITORY, '.test-projects')
    mkdirSync(parent, { recursive: true })
    this.root = mkdtempSync(join(parent, 'project-'))
    this.write('package.json', '{ "name": "sample", "private": true, "type": "module" }')
    this.write('deno.json', '{ "nodeModulesDir": "manual", "workspace": ["supabase/functions/*"] }')
    for (const [path, text] of Object.entries(files)) this.write(path, text)
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true })
    writeFileSync(join(this.root, path), text)
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true })
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8')
  }

  /** Every file below a folder with its text: two equal states have equal snapshots. */
  files(folder = 'supabase'): Record<string, string> {
    const start = join(this.root, folder)
    if (!statSync(start, { throwIfNoEntry: false })) return {}
    const paths = readdirSync(start, { recursive: true, encoding: 'utf8' }).map((path) => join(start, path))
    return Object.fromEntries(
      paths
        .filter((path) => statSync(path).isFile())
        .map((path) => [relative(this.root, path), readFileSync(path, 'utf8')])
        .sort(),
    )
  }

  /** Runs `functions generate --json` and returns its result. Refusals come as errors. */
  async generate(options: GenerateOptions = {}): Promise<Record<string, unknown>> {
    let text = ''
    const streams = { stdout: { write: (part: string) => (text += part) }, stderr: { write: () => {} } }
    await generateFunctions(options, createOutput({ json: true }, streams), this.root)
    return JSON.parse(text) as Record<string, unknown>
  }

  dispose(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
