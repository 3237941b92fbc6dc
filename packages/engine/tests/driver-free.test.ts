import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const src = new URL('../src/', import.meta.url)
const DRIVERS =
  /from '(?:[^']*adapters\/[^']*|pg|postgres|libsql|better-sqlite3|node:sqlite|@supabase\/[^']*)'|import\('(?!\.)/

test('the engine names neither an adapter nor a driver, so importing it loads no database driver', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('adapters/'),
  )
  expect(files).toContain('index.ts')
  const naming = files.filter((file) => DRIVERS.test(readFileSync(new URL(file, src), 'utf8')))
  expect(naming).toEqual([])
  expect(DRIVERS.test("import postgres from 'postgres'")).toBe(true)
})
