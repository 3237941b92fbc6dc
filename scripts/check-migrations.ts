/**
 * Proves that a database built by the migrations is the one that packages/core/schemas describes: first the text of the
 * baseline, then the catalogs of two databases, one made by each. `--check` compares the text only.
 */
import { existsSync, readFileSync } from 'node:fs'
import { cloneDatabase } from '@starflow/local'
import postgres from 'postgres'
import { migrations } from '../packages/core/src/migrations.ts'
import { loadSchema } from '../tests/support/load-schema.ts'
import { requestedMajor, startTestServer } from '../tests/support/test-server.ts'
import { BASELINE_FILE, baselineMigration, firstDifference } from './baseline-migration.ts'
import {
  type CatalogSnapshot,
  compareSnapshots,
  describeDifference,
  takeCatalogSnapshot,
} from './catalog/catalog-snapshot.ts'
import { readSchemaFiles } from './schema-files.ts'

const NAMES = { left: 'migrations', right: 'schemas' }

const files = readSchemaFiles()
try {
  compareTexts()
  if (!process.argv.includes('--check')) await proveCatalogsEqual()
  console.log(`The migrations equal ${files.length} schema files.`)
} catch (error) {
  console.error(
    `${error instanceof Error ? error.message : error}\nAfter a change of packages/core/schemas: npm run build:sql`,
  )
  process.exitCode = 1
}

function compareTexts(): void {
  const found = existsSync(BASELINE_FILE) ? readFileSync(BASELINE_FILE, 'utf8') : ''
  const difference = firstDifference(baselineMigration(files), found)
  if (difference !== undefined) {
    throw new Error(`The baseline migration is not what the schema files say, first at ${difference}`)
  }
}

async function proveCatalogsEqual(): Promise<void> {
  const { server, testServer, stop } = await startTestServer(requestedMajor())
  try {
    const broken = testServer.broken.platform ?? testServer.broken.starflow
    if (broken !== undefined) throw new Error(broken)
    const fromMigrations = await snapshotOf('from_migrations', async (sql) => {
      for (const migration of migrations) await sql.unsafe(migration.sql).simple()
    })
    const fromSchemas = await snapshotOf('from_schemas', (sql) => loadSchema(sql, files))
    const differences = compareSnapshots(fromMigrations, fromSchemas)
    if (differences.length > 0) {
      throw new Error(differences.map((each) => describeDifference(each, NAMES)).join('\n'))
    }
    const objects = Object.values(fromSchemas).reduce((sum, kind) => sum + Object.keys(kind).length, 0)
    console.log(`${objects} catalog objects are the same from migrations and from schemas.`)
  } finally {
    await stop()
  }

  async function snapshotOf(name: string, build: (sql: postgres.Sql) => Promise<void>): Promise<CatalogSnapshot> {
    await cloneDatabase(server, { template: 'platform', name })
    const sql = postgres(server.url({ database: name }), { max: 1, onnotice: () => {} })
    try {
      await build(sql)
      return await takeCatalogSnapshot(sql)
    } finally {
      await sql.end()
    }
  }
}
