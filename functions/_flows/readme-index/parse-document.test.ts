import { expect, test } from 'vitest'
import type { DocumentInput } from './document.ts'
import { parseDocument } from './parse-document.ts'

const input = (markdown: string, more: Partial<DocumentInput> = {}): DocumentInput => ({
  package: 'left-pad',
  version: '1.3.0',
  path: 'README.md',
  markdown,
  files: [],
  filesComplete: true,
  ...more,
})

test('title, sections with anchors, code languages and words are read', () => {
  const parsed = parseDocument(
    input('# Left pad\n\nPads a string.\n\n## Usage & tips\n\n```JS\npad()\n```\n\n## Usage & tips\n'),
  )
  expect(parsed.title).toBe('Left pad')
  expect(parsed.sections).toEqual([
    { depth: 1, title: 'Left pad', anchor: 'left-pad' },
    { depth: 2, title: 'Usage & tips', anchor: 'usage--tips' },
    { depth: 2, title: 'Usage & tips', anchor: 'usage--tips-1' },
  ])
  expect(parsed.codeLanguages).toEqual(['js'])
  expect(parsed.words).toBe(9)
  expect(parsed.text).not.toContain('pad()')
})

test('the identity stays the same from run to run', () => {
  expect(parseDocument(input('a')).identity).toEqual({
    id: 'left-pad@1.3.0/README.md',
    package: 'left-pad',
    version: '1.3.0',
    path: 'README.md',
  })
})

test('a document without a main heading is titled by its package, or by its first heading when it is no README', () => {
  expect(parseDocument(input('![logo](a.png)\n\n## Getting started')).title).toBe('left-pad')
  expect(parseDocument(input('## Set-up', { path: 'docs/set-up.md' })).title).toBe('Set-up')
  expect(parseDocument(input('just text')).title).toBe('left-pad')
  expect(parseDocument(input('')).words).toBe(0)
})

test('links are found in Markdown, references, images, tables and HTML, each once', () => {
  const { targets } = parseDocument(
    input(
      [
        '[a](./a.md) [a again](./a.md) ![img](b.png) [ref][r] <https://c.test>',
        '',
        '| t |\n|---|\n| [d](#d) |',
        '',
        '<p><a href="e.md">e</a> <img src=\'f.png\'></p>',
        '',
        '[r]: ./g.md',
        '[empty]()',
      ].join('\n'),
    ),
  )
  expect(targets.sort()).toEqual(['#d', './a.md', './g.md', 'b.png', 'e.md', 'f.png', 'https://c.test'])
})

test('headings and anchors written in HTML count', () => {
  const parsed = parseDocument(
    input('<h1 align="center">\n  The <b>Tool</b>\n</h1>\n\n<a name="Deep"></a>\n\n<!-- <h2>Gone</h2> -->'),
  )
  expect(parsed.title).toBe('The Tool')
  expect(parsed.sections).toHaveLength(1)
  expect(parsed.htmlAnchors).toEqual(['deep'])
})

test('prose that is too long is cut between characters', () => {
  const { text } = parseDocument(input(`a${'😀'.repeat(60_000)}`))
  expect(text.length).toBeLessThanOrEqual(100_000)
  expect(text.endsWith('😀')).toBe(true)
})

test('hostile HTML is scanned in linear time', () => {
  const started = performance.now()
  parseDocument(input(`<div>${'<a '.repeat(30_000)}${'<h1>'.repeat(15_000)}`))
  expect(performance.now() - started).toBeLessThan(3_000)
})
