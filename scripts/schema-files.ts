import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './repository.ts'

/** One file of the schema, the truth that migrations are built from. */
export interface SchemaFile {
  /** `<band>/<file>`, for messages and separators. */
  readonly path: string
  readonly sql: string
}

export const SCHEMAS_FOLDER = join(ROOT, 'packages/core/schemas')

/**
 * The schema files in load order: bands by name; inside a band types, tables, private helpers (`_name.sql`), then the
 * rest, each group alphabetically. A plain comparison of code units, so that the order is the same on every computer.
 */
export function readSchemaFiles(folder = SCHEMAS_FOLDER): SchemaFile[] {
  const bands = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort(byCodeUnit)
  return bands.flatMap((band) =>
    orderInBand(readdirSync(join(folder, band)).filter((file) => file.endsWith('.sql'))).map((file) => ({
      path: `${band}/${file}`,
      sql: readFileSync(join(folder, band, file), 'utf8').trim(),
    })),
  )
}

/** The files of one band in load order. */
export function orderInBand(files: readonly string[]): string[] {
  return [...files].sort((left, right) => rank(left) - rank(right) || byCodeUnit(left, right))
}

function rank(file: string): number {
  if (file === '00_types.sql') return 0
  if (file === '01_tables.sql') return 1
  return file.startsWith('_') ? 2 : 3
}

function byCodeUnit(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
