import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StarflowError } from '@starflow/errors'
import postgres, { type Sql } from 'postgres'

/** One migration: `name` is that of its file, `<version>_<name>`, with or without `.sql`. */
export interface Migration {
  readonly name: string
  readonly sql: string
}

/** A migration as the history of the database knows it. */
interface VersionedMigration {
  readonly version: string
  readonly label: string
  readonly fullName: string
  readonly sql: string
}

interface AppliedMigration {
  readonly version: string
  readonly name: string | null
  readonly statements: string[] | null
}

/** The migrations of a folder: its `.sql` files. Throws SF521 if it cannot be read. */
export function readMigrations(folder: string): Migration[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith('.sql'))
      .map((file) => ({ name: file, sql: readFileSync(join(folder, file), 'utf8') }))
  } catch (error) {
    throw new StarflowError({
      code: 'SF521',
      message: `The migrations in ${folder} cannot be read.`,
      detail: error instanceof Error ? error.message : String(error),
      hint: 'Give the folder that holds the .sql files as migrationsDir, or leave it out.',
      cause: error,
    })
  }
}

/**
 * Applies what is missing, in the order of versions, each in one transaction, and records it as the Supabase CLI does, so
 * that `supabase migration up` and `list` agree. Gives the names of those that were applied now.
 *
 * @throws StarflowError SF521 if the history does not fit the migrations (nothing is applied then); SF522 if one fails
 */
export async function applyMigrations(databaseUrl: string, migrations: readonly Migration[]): Promise<string[]> {
  const wanted = migrations.map(versioned).sort((a, b) => (a.version < b.version ? -1 : 1))
  refuseDuplicates(wanted)
  const sql = postgres(databaseUrl, { max: 1, prepare: false, onnotice: () => {} })
  try {
    await createHistory(sql)
    const applied = await sql<AppliedMigration[]>`
      select version, name, statements from supabase_migrations.schema_migrations order by version`
    const missing = missingOf(wanted, applied)
    for (const migration of missing) await apply(sql, migration)
    return missing.map(({ fullName }) => fullName)
  } finally {
    await sql.end()
  }
}

function versioned({ name, sql }: Migration): VersionedMigration {
  const fullName = name.replace(/\.sql$/, '')
  const [, version, label] = /^(\d+)_(.+)$/.exec(fullName) ?? []
  if (version === undefined || label === undefined) {
    throw new StarflowError({
      code: 'SF521',
      message: `The migration "${name}" has no version.`,
      detail: 'Its name must be <version>_<name>.sql with a version of digits.',
      hint: 'Name it as `supabase migration new` does, for example 20260101000000_orders.sql.',
      fields: { name },
    })
  }
  return { version, label, fullName, sql }
}

function refuseDuplicates(wanted: readonly VersionedMigration[]): void {
  const twice = wanted.find(({ version }, index) => wanted[index + 1]?.version === version)
  if (twice === undefined) return
  throw new StarflowError({
    code: 'SF521',
    message: `Two migrations have the version ${twice.version}.`,
    detail: `They are ${wanted
      .filter(({ version }) => version === twice.version)
      .map(({ fullName }) => fullName)
      .join(' and ')}.`,
    hint: 'Give one of them a later version.',
    fields: { version: twice.version },
  })
}

/** The tables of the Supabase CLI, column for column. */
async function createHistory(sql: Sql): Promise<void> {
  await sql
    .unsafe(
      `create schema if not exists supabase_migrations;
       create table if not exists supabase_migrations.schema_migrations (version text not null primary key);
       alter table supabase_migrations.schema_migrations add column if not exists statements text[];
       alter table supabase_migrations.schema_migrations add column if not exists name text;`,
    )
    .simple()
}

function missingOf(
  wanted: readonly VersionedMigration[],
  applied: readonly AppliedMigration[],
): readonly VersionedMigration[] {
  const byVersion = new Map(wanted.map((migration) => [migration.version, migration]))
  for (const { version, name, statements } of applied) {
    const migration = byVersion.get(version)
    if (migration === undefined) throw historyError('is applied here, but is not among the migrations', version, name)
    // The CLI records no statements where it only marks a migration as applied.
    if (statements !== null && essence(statements.join(';')) !== essence(migration.sql)) {
      throw historyError('differs from the one that this database has', version, name)
    }
  }
  const known = new Set(applied.map(({ version }) => version))
  const missing = wanted.filter(({ version }) => !known.has(version))
  const last = applied.at(-1)
  const early = missing.find(({ version }) => last !== undefined && version < last.version)
  if (early !== undefined) {
    throw historyError(`comes before ${last!.version}, which is applied already`, early.version, early.label)
  }
  return missing
}

/** The CLI keeps a file as a list of statements without their semicolons: what differs in these only is the same. */
function essence(sql: string): string {
  return sql.replace(/[\s;]+/g, '')
}

function historyError(what: string, version: string, name: string | null): StarflowError {
  return new StarflowError({
    code: 'SF521',
    message: `Migration ${version}${name === null ? '' : `_${name}`} ${what}.`,
    detail: 'Nothing was applied.',
    hint: 'Put a change into a new migration; or delete the local data folder to start with an empty database.',
    fields: { version, name },
  })
}

/**
 * In one message, which is one transaction. Not by the driver's own `begin`: when the connection is lost it sends a
 * `rollback` to no socket, and that ends the process.
 */
async function apply(sql: Sql, { version, label, fullName, sql: text }: VersionedMigration): Promise<void> {
  const values = [literal(version), literal(label), `array[${literal(text)}]`].join(', ')
  const record = `insert into supabase_migrations.schema_migrations (version, name, statements) values (${values})`
  try {
    await sql.unsafe(`${text}\n;${record}`).simple()
    // A migration may leave settings behind, as one of pg_dump does with its search_path.
    await sql.unsafe('discard all').simple()
  } catch (error) {
    throw migrationFailed(fullName, text, error)
  }
}

function migrationFailed(name: string, text: string, error: unknown): StarflowError {
  const { message, detail, hint, position, code } = error as Record<string, string | undefined>
  const line = position === undefined ? undefined : text.slice(0, Number(position)).split('\n').length
  return new StarflowError({
    code: 'SF522',
    message: `Migration ${name} failed${line === undefined ? '' : ` at line ${line}`}: ${message ?? String(error)}.`,
    detail: detail ?? 'It was rolled back; the migrations before it are applied.',
    hint: hint ?? 'Correct the file and start again. Migrations run as postgres, which is not a superuser.',
    fields: { name, line, sqlState: code },
    cause: error,
  })
}

/** Means the same whatever a migration sets `standard_conforming_strings` to. */
function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
