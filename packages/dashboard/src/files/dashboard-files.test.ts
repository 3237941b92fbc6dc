import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dashboardFiles } from './dashboard-files.ts'
import { sourceHash } from './source-hash.ts'

test('the files of the page are there after the first call, whoever calls at the same time, and nothing in them is inline', async () => {
  const [folder, again] = await Promise.all([dashboardFiles(), dashboardFiles()])
  expect(again).toBe(folder)
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  expect(page).toMatch(/<script type="module"[^>]* src="\/assets\/[^"]+\.js"><\/script>/)
  expect(page).not.toMatch(/<style|<script>|\sstyle=|\son\w+=/)
})

test('the page is built for those who use it, whatever the process that asks for it is', async () => {
  expect(process.env.NODE_ENV).toBe('test')
  const assets = join(await dashboardFiles(), 'assets')
  const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'))
  const texts = scripts.map((name) => readFileSync(join(assets, name), 'utf8'))
  // What React says where it is there to be developed with.
  expect(texts.filter((text) => text.includes('Download the React DevTools'))).toEqual([])
})

test('before the first page is drawn, only what it needs is loaded: no graph is laid out there, and no input checked', async () => {
  const assets = join(await dashboardFiles(), 'assets')
  const textOf = (name: string) => readFileSync(join(assets, name), 'utf8')
  const importedBy = (name: string) =>
    [...textOf(name).matchAll(/(?:from|import)\s?["']\.\/([^"']+\.js)["']/g)].map((match) => match[1]!)
  const page = readdirSync(assets).find((name) => /^OverviewPage-.*\.js$/.test(name))!
  const loaded = new Set<string>()
  const load = (name: string) => {
    if (loaded.has(name)) return
    loaded.add(name)
    importedBy(name).forEach(load)
  }
  load(page)
  const texts = [...loaded].map(textOf)
  const holds = (mark: string) => texts.some((text) => text.includes(mark))
  expect({
    react: holds('react.element'),
    graph: holds('network-simplex'),
    schema: holds('unevaluatedProperties'),
  }).toEqual({ react: true, graph: false, schema: false })
  // 416 kB when this was written, half of it React.
  expect(texts.reduce((sum, text) => sum + text.length, 0)).toBeLessThan(440_000)
})

test('the name of a state of the sources changes with any of them, and not with a test', () => {
  const root = mkdtempSync(join(tmpdir(), 'starflow-sources-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const write = (file: string, text: string) => writeFileSync(join(root, file), text)
  const hash = () => sourceHash(root, ['.'])
  write('a.ts', '1')
  const first = hash()
  write('a.test.ts', '1')
  expect(hash()).toBe(first)
  write('a.ts', '2')
  const second = hash()
  expect(second).not.toBe(first)
  write('b.ts', '')
  expect(hash()).not.toBe(second)
  write('a.ts', '1')
  rmSync(join(root, 'b.ts'))
  expect(hash()).toBe(first)
})
