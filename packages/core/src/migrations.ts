import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** One migration of the SQL core. */
export interface Migration {
  /** The time stamp that the file name starts with; migrations are applied in its order. */
  readonly version: string
  /** The file's name, as it stands in supabase/migrations. */
  readonly name: string
  readonly sql: string
}

/**
 * The migrations of Starflow in the order to apply them. For Node only: they are read from the package's `migrations`
 * folder, and inside this repository from supabase/migrations, the one committed copy.
 */
export const migrations: readonly Migration[] = Object.freeze(readMigrations())

function readMigrations(): Migration[] {
  const packed = fileURLToPath(new URL('../migrations/', import.meta.url))
  const folder = existsSync(packed) ? packed : fileURLToPath(new URL('../../../supabase/migrations/', import.meta.url))
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => /^\d{14}_starflow_\w+\.sql$/.test(name))
    .sort()
    .map((name) => Object.freeze({ version: name.slice(0, 14), name, sql: readFileSync(`${folder}${name}`, 'utf8') }))
}
