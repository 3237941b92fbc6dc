// Node's loader hooks for programs that tests start: packages come as `compiled.ts` has bundled them, and another TypeScript file
// is stripped of its types when it is first asked for. Plain JavaScript: it runs before anything that could read TypeScript.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where compiled modules are, and URL of the bundle by what it is imported as: a package's entry, or the URL of its source. */
let folder
let bundles

export function initialize(data) {
  folder = data.folder
  bundles = new Map(data.bundles)
}

export async function resolve(specifier, context, next) {
  const url = bundles.get(specifier) ?? (await next(specifier, context)).url
  return { url: bundles.get(url) ?? url, shortCircuit: true }
}

export async function load(url, context, next) {
  if (!/\.m?ts$/.test(url)) return next(url, context)
  const text = readFileSync(fileURLToPath(url), 'utf8')
  const file = join(folder, `${createHash('sha256').update(text).digest('hex')}.js`)
  if (!existsSync(file)) {
    const { transformSync } = await import('esbuild')
    const { code } = transformSync(text, { loader: 'ts', format: 'esm', target: 'node20', sourcemap: 'inline' })
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, code)
    renameSync(draft, file)
  }
  return { format: 'module', source: readFileSync(file, 'utf8'), shortCircuit: true }
}
