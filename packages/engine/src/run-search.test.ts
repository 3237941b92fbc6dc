import { expect, test } from 'vitest'
import { parseRunSearch } from './run-search.ts'

test.each([
  ['0199ab12', '0199ab12-0000-0000-0000-000000000000', '0199ab12-ffff-ffff-ffff-ffffffffffff'],
  ['0199AB12-3', '0199ab12-3000-0000-0000-000000000000', '0199ab12-3fff-ffff-ffff-ffffffffffff'],
  ['0199ab12-', '0199ab12-0000-0000-0000-000000000000', '0199ab12-ffff-ffff-ffff-ffffffffffff'],
  ['0199ab123', '0199ab12-3000-0000-0000-000000000000', '0199ab12-3fff-ffff-ffff-ffffffffffff'],
  [
    ' 0199ab12-3456-7890-abcd-ef0123456789',
    '0199ab12-3456-7890-abcd-ef0123456789',
    '0199ab12-3456-7890-abcd-ef0123456789',
  ],
])('%j is the beginning of an id', (text, firstId, lastId) => {
  expect(parseRunSearch(text)).toEqual({ kind: 'id', firstId, lastId })
})

test.each([
  ['0199ab1', '0199ab1'],
  ['Orders', 'orders'],
  ['0199-ab12', '0199-ab12'],
  ['deadbeefs', 'deadbeefs'],
  [`${'0'.repeat(32)}1`, `${'0'.repeat(32)}1`],
])('%j is looked for in ids, slugs and errors', (text, wanted) => {
  expect(parseRunSearch(text)).toEqual({ kind: 'text', text: wanted })
})
