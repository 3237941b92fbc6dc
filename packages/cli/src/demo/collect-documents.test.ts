import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  collectFolder,
  collectPackageReadmes,
  describeSkipped,
  MAX_DOCUMENT_BYTES,
  MAX_LISTED_FILES,
} from './collect-documents.ts'

let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'starflow-docs-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function write(path: string, content: string | Uint8Array) {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), content)
}

const manifest = (name: string, version = '1.0.0') => JSON.stringify({ name, version })

test('every installed package gives its README, scoped and nested ones too', async () => {
  await write('b/package.json', manifest('b'))
  await write('b/README.md', '# b')
  await write('b/lib/index.js', '')
  await write('b/node_modules/c/package.json', manifest('c', '2.0.0'))
  await write('b/node_modules/c/readme.markdown', '# c')
  await write('@scope/a/package.json', manifest('@scope/a'))
  await write('@scope/a/Readme.md', '# a')
  await write('no-readme/package.json', manifest('no-readme'))
  await write('.bin/README.md', 'no package')
  const { documents } = await collectPackageReadmes(root)
  expect(documents.map((document) => [document.package, document.version, document.path])).toEqual([
    ['@scope/a', '1.0.0', 'Readme.md'],
    ['b', '1.0.0', 'README.md'],
    ['c', '2.0.0', 'readme.markdown'],
  ])
  expect(documents[1]).toMatchObject({
    markdown: '# b',
    files: ['README.md', 'lib/index.js', 'package.json'],
    filesComplete: true,
  })
})

test('the same version installed twice is one document, a linked package none', async () => {
  for (const parent of ['x', 'y']) {
    await write(`${parent}/node_modules/z/package.json`, manifest('z'))
    await write(`${parent}/node_modules/z/README.md`, '# z')
  }
  await write('.linked/README.md', '# l')
  await symlink(join(root, '.linked'), join(root, 'linked'))
  expect((await collectPackageReadmes(root)).documents.map((document) => document.package)).toEqual(['z'])
})

test('documents that are not UTF-8 or too large are skipped and counted, the rest goes on', async () => {
  await write('latin1.md', Uint8Array.from([0x63, 0x61, 0x66, 0xe9]))
  await write('large.md', 'x'.repeat(MAX_DOCUMENT_BYTES + 1))
  await write('good.md', 'null \0 byte')
  const { documents, skipped } = await collectFolder(root)
  expect(documents.map((document) => document.markdown)).toEqual(['null \uFFFD byte'])
  expect(skipped).toEqual([
    { path: 'large.md', reason: 'too large' },
    { path: 'latin1.md', reason: 'not UTF-8' },
  ])
  expect(describeSkipped(skipped)).toBe('2 documents were skipped: 1 over 200 KB (large.md), 1 not UTF-8 (latin1.md)')
})

test('of many skipped files the first few are named, without control characters', () => {
  const skipped = ['a\u001b[31m', 'b', 'c', 'd'].map((path) => ({ path, reason: 'not UTF-8' as const }))
  expect(describeSkipped(skipped)).toBe('4 documents were skipped: 4 not UTF-8 (a [31m, b, c, …)')
})

test('a folder gives all its Markdown, and stops at the limit', async () => {
  await write('guide/one.md', '1')
  await write('two.markdown', '2')
  await write('image.png', '')
  await write('node_modules/p/README.md', 'not ours')
  const all = await collectFolder(root)
  expect(all.documents.map((document) => document.path)).toEqual(['guide/one.md', 'two.markdown'])
  expect(all.documents[0]!.files).toEqual(['guide/one.md', 'image.png', 'two.markdown'])
  expect((await collectFolder(root, 1)).documents).toHaveLength(1)
})

test('a list of files that was cut says so', async () => {
  await write('p/package.json', manifest('p'))
  await write('p/README.md', '# p')
  await Promise.all(Array.from({ length: MAX_LISTED_FILES }, (_, index) => write(`p/lib/${index}.js`, '')))
  const [document] = (await collectPackageReadmes(root)).documents
  expect(document).toMatchObject({ filesComplete: false })
  expect(document!.files).toHaveLength(MAX_LISTED_FILES)
})

test('a folder that cannot be read, and one without documents, are refused by name', async () => {
  await write('file.txt', '')
  for (const folder of [join(root, 'absent'), join(root, 'file.txt')]) {
    await expect(collectFolder(folder)).rejects.toMatchObject({ code: 'SF601', fields: { folder } })
    await expect(collectPackageReadmes(folder)).rejects.toMatchObject({ code: 'SF601' })
  }
  await expect(collectFolder(root)).rejects.toMatchObject({ code: 'SF602', message: expect.stringContaining(root) })
  await expect(collectFolder(join(root, 'file.txt'))).rejects.toMatchObject({
    message: `${join(root, 'file.txt')} is a file, not a folder.`,
    hint: expect.stringContaining(root),
  })
  await expect(collectFolder(root)).rejects.toMatchObject({ hint: expect.stringMatching(/\.md or \.markdown/) })
  await expect(collectPackageReadmes(root)).rejects.toMatchObject({ hint: expect.stringContaining('npm ci') })
  await write('bad.md', Uint8Array.from([0xff]))
  await expect(collectFolder(root)).rejects.toMatchObject({ detail: '1 document was skipped: 1 not UTF-8 (bad.md)' })
})
