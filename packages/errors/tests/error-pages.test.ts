import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../src/index.ts'

const root = new URL('../../..', import.meta.url).pathname
const pagesFolder = join(root, 'docs/errors')
const schemasFolder = join(root, 'packages/core/schemas')

describe('the table of codes', () => {
  it('every name stands for one code', () => {
    const names = Object.values(ERROR_CODES)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('every code has a page that begins with it, and every page a code', () => {
    const pages = readdirSync(pagesFolder).filter((file) => /^SF/.test(file))
    expect(pages.toSorted()).toEqual(
      Object.keys(ERROR_CODES)
        .map((code) => `${code}.md`)
        .toSorted(),
    )
    for (const page of pages) {
      const text = readFileSync(join(pagesFolder, page), 'utf8')
      expect(text.startsWith(`# ${page.slice(0, -3)}`), `${page} begins with its code`).toBe(true)
      expect(text.toLowerCase(), `${page} says what to do`).toContain('what to do')
    }
  })

  it('every code that SQL raises is in the table', () => {
    const raised = sqlFiles(schemasFolder).flatMap((file) => readFileSync(file, 'utf8').match(/'SF\d{3}'/g) ?? [])
    const unknown = raised.map((code) => code.slice(1, -1)).filter((code) => !Object.hasOwn(ERROR_CODES, code))
    expect(raised.length).toBeGreaterThan(0)
    expect(unknown).toEqual([])
  })
})

function sqlFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => join(folder, file))
}
