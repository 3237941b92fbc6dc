import { describe, expect, test } from 'vitest'
import { checkLink } from './check-link.ts'
import type { Link } from './document.ts'
import { resolveLinks } from './resolve-links.ts'
import { summarizeLinks } from './summarize-links.ts'

const section = (anchor: string) => ({ depth: 2, title: anchor, anchor })

describe('resolveLinks', () => {
  const resolve = (...targets: string[]) =>
    resolveLinks({ targets, sections: [section('set-up'), section('über')], htmlAnchors: ['deep'] })

  test('names the kind of every link', () => {
    const kinds = resolve(
      'https://a.test',
      '//a.test/x',
      'mailto:a@b.test',
      'data:x',
      '#set-up',
      'docs/a.md',
      '/b.md',
      '?q',
    )
    expect(kinds.map((link) => link.kind)).toEqual(['web', 'web', 'mail', 'other', 'anchor', 'file', 'file', 'file'])
  })

  test('an anchor exists when a heading or an HTML anchor carries it, in any case and percent-encoded', () => {
    const found = resolve('#set-up', '#Set-Up', '#user-content-set-up', '#%C3%BCber', '#deep', '#', '#top', '#readme')
    expect(found.every((link) => link.anchorExists)).toBe(true)
    expect(resolve('#setup', '#%zz').map((link) => link.anchorExists)).toEqual([false, false])
  })

  test('a document without links gives none', () => {
    expect(resolve()).toEqual([])
  })
})

describe('checkLink', () => {
  const shipped = {
    path: 'docs/guide.md',
    files: ['docs/guide.md', 'docs/my file.md', 'src/index.js'],
    filesComplete: true,
  }
  const statusOf = async (target: string, files = shipped) =>
    (await checkLink({ target, kind: 'file' }, async () => files)).status

  test('a file is looked up relative to the document, or to the package with a leading slash', async () => {
    expect(await statusOf('guide.md#part?')).toBe('ok')
    expect(await statusOf('../src/index.js')).toBe('ok')
    expect(await statusOf('/src/index.js?raw=true')).toBe('ok')
    expect(await statusOf('my%20file.md')).toBe('ok')
    expect(await statusOf('src/index.js')).toBe('broken')
    expect(await statusOf('Guide.md')).toBe('broken')
  })

  test('a folder is there when something in it is shipped', async () => {
    expect(await statusOf('../src/')).toBe('ok')
    expect(await statusOf('..')).toBe('ok')
    expect(await statusOf('../sr')).toBe('broken')
  })

  test('what lies outside of the package, or past the end of the list, is unchecked', async () => {
    expect(await statusOf('../../other/README.md')).toBe('unchecked')
    expect(await statusOf('missing.md', { ...shipped, filesComplete: false })).toBe('unchecked')
  })

  test('the list of files is not asked for unless the link names a file', async () => {
    const refuse = async () => {
      throw new Error('asked for the list of files')
    }
    const check = (link: Link) => checkLink(link, refuse)
    expect(await check({ target: '#a', kind: 'anchor', anchorExists: true })).toMatchObject({ status: 'ok' })
    expect(await check({ target: '#b', kind: 'anchor', anchorExists: false })).toMatchObject({ status: 'broken' })
    expect(await check({ target: 'https://a.test', kind: 'web' })).toMatchObject({ status: 'unchecked' })
  })
})

test('a summary counts what could be checked', () => {
  const check = (status: 'ok' | 'broken' | 'unchecked') => ({ target: status, kind: 'file' as const, status })
  expect(summarizeLinks([check('ok'), check('broken'), check('unchecked')])).toEqual({
    checked: 2,
    broken: 1,
    hasBroken: true,
  })
  expect(summarizeLinks([])).toEqual({ checked: 0, broken: 0, hasBroken: false })
})
