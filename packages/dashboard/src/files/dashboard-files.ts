import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtFromSources } from './built-from-sources.ts'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The folder with the files of the page. A packed package has them; in the repository they are built from the sources, once
 * for each state of these, which takes a second or two.
 */
export async function dashboardFiles(): Promise<string> {
  if (existsSync(join(PACKAGE, 'index.html'))) return await builtFromSources(PACKAGE)
  return join(PACKAGE, 'dist')
}
