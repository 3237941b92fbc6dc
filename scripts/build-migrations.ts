/** Builds the baseline migration from packages/core/schemas. With `--check` it writes nothing and fails on a difference. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { BASELINE_FILE, baselineMigration, firstDifference } from './baseline-migration.ts'
import { ROOT } from './repository.ts'
import { readSchemaFiles } from './schema-files.ts'

const files = readSchemaFiles()
const text = baselineMigration(files)
const found = existsSync(BASELINE_FILE) ? readFileSync(BASELINE_FILE, 'utf8') : ''
const difference = firstDifference(text, found)
const name = relative(ROOT, BASELINE_FILE)

if (process.argv.includes('--check')) {
  if (difference !== undefined) {
    console.error(`${name} is not what packages/core/schemas says, first at ${difference}\nRun: npm run build:sql`)
    process.exit(1)
  }
  console.log(`${name} equals ${files.length} schema files.`)
} else if (difference === undefined) {
  console.log(`${name} is up to date (${files.length} schema files).`)
} else {
  mkdirSync(dirname(BASELINE_FILE), { recursive: true })
  writeFileSync(BASELINE_FILE, text)
  console.log(`${name} written from ${files.length} schema files.`)
}
