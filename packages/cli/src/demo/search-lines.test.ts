import pc from 'picocolors'
import { expect, test } from 'vitest'
import type { SearchHit } from './search-index.ts'
import { searchLines } from './search-lines.ts'

const hit: SearchHit = {
  documentId: 'pg-pool@1.0.0/README.md',
  package: 'pg-pool',
  version: '1.0.0',
  path: 'README.md',
  title: 'Pool',
  keywords: [],
  rank: 0.25,
  snippet: [
    { text: 'Keeps *many* open (', isMatch: false },
    { text: 'connections', isMatch: true },
    { text: ') in a ', isMatch: false },
    { text: 'pool', isMatch: true },
    { text: ' of its own', isMatch: false },
  ],
}

test('elsewhere than in a terminal a passage is one line, with marks that Markdown does not use', () => {
  expect(searchLines([hit], { colors: pc.createColors(false), isInteractive: false }, 20)).toEqual([
    ' 1. Pool  pg-pool 1.0.0 · README.md · 0.250',
    '    Keeps *many* open («connections») in a «pool» of its own',
  ])
})

test('in a terminal passages wrap at its width, and the marks take no column', () => {
  const colors = { ...pc.createColors(false), bold: (text: unknown) => `<${text}>`, yellow: String }
  expect(searchLines([hit], { colors, isInteractive: true }, 24)).toEqual([
    '< 1. Pool>',
    '    pg-pool 1.0.0 · README.md · 0.250',
    '    Keeps *many* open',
    '    (<connections>) in a',
    '    <pool> of its own',
  ])
})

test('a word longer than the terminal stands alone', () => {
  const snippet = [{ text: `a ${'x'.repeat(40)} b`, isMatch: false }]
  const lines = searchLines([{ ...hit, snippet }], { colors: pc.createColors(false), isInteractive: true }, 30)
  expect(lines.slice(-3)).toEqual(['    a', `    ${'x'.repeat(40)}`, '    b'])
})
