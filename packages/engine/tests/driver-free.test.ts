import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const src = new URL('../src/', import.meta.url)

test('the engine names no adapter, so importing it loads no database driver', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('adapters/'),
  )
  expect(files).toContain('index.ts')
  const naming = files.filter((file) => /from '[^']*adapters\//.test(readFileSync(new URL(file, src), 'utf8')))
  expect(naming).toEqual([])
})
