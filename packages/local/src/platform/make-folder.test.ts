import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from './make-folder.ts'

const home = mkdtempSync(join(tmpdir(), 'starflow-make-folder-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

test('missing folders are made, and one that is there is fine', () => {
  const folder = join(home, 'a/b/c')
  makeFolder(folder)
  makeFolder(folder)
  expect(existsSync(folder)).toBe(true)
})

test.runIf(existsSync('/proc/self'))('a folder that the system cannot make is refused at once', () => {
  expect(() => makeFolder('/proc/starflow/postgres')).toThrowError(expect.objectContaining({ code: 'SF506' }))
})

test('a file in the way is refused', () => {
  writeFileSync(join(home, 'file'), '')
  for (const path of ['file', 'file/below']) {
    expect(() => makeFolder(join(home, path))).toThrowError(expect.objectContaining({ code: 'SF506' }))
  }
})
