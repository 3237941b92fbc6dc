import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'

/** Names a file with one change (scripts/mutants.ts), which tests are given in place of the source. */
export const MUTANT_VARIABLE = 'STARFLOW_MUTANT'

const mutant = readMutant()

/** The text of a source file: what stands there, or the change that is tried. */
export function inPlaceOf(path: string, text: string): string {
  return mutant !== undefined && join(ROOT, mutant.file) === path ? mutant.text : text
}

/** Has vitest load the change. */
export const mutantPlugin = {
  name: 'mutant',
  enforce: 'pre',
  transform: (text: string, id: string) => inPlaceOf(id.split('?')[0]!, text),
} as const

function readMutant(): { readonly file: string; readonly text: string } | undefined {
  const file = process.env[MUTANT_VARIABLE]
  return file === undefined ? undefined : JSON.parse(readFileSync(file, 'utf8'))
}
