import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '@starflow/core/migrations'
import type { Migration } from '@starflow/local'

/**
 * Our migrations and the project's own; the platform sorts them by time stamp. A project that has installed Starflow has a copy of ours among its
 * own: its copy counts then, since it is what a deployment would apply.
 */
export function platformMigrations(migrationsDir?: string): Migration[] {
  const own = migrationsDir === undefined || !existsSync(migrationsDir) ? [] : readdirSync(migrationsDir)
  const files = new Map(migrations.map((migration) => [migration.name, migration.sql]))
  for (const file of own.filter((name) => /^\d+_.+\.sql$/.test(name))) {
    files.set(file, readFileSync(join(migrationsDir as string, file), 'utf8'))
  }
  return [...files].map(([name, sql]) => ({ name, sql }))
}
