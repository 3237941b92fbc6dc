import { readFileSync } from 'node:fs'
import type { Json } from '@starflow/dsl'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contains } from './json-containment.ts'

const { vectors } = JSON.parse(
  readFileSync(new URL('../../../dsl/vectors/containment.json', import.meta.url), 'utf8'),
) as { vectors: { claim: string; value: string; pattern: string; contains: boolean; engine?: boolean }[] }

test.each(vectors)('$claim', ({ value, pattern, contains: postgres, engine = postgres }) => {
  expect(contains(JSON.parse(value) as Json, JSON.parse(pattern) as Json)).toBe(engine)
})

test('every value contains itself', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.parse(JSON.stringify(value)) as Json
      expect(contains(json, json)).toBe(true)
    }),
  )
})
