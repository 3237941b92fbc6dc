import { expect, test } from 'vitest'
import { formatBytes } from './bytes.ts'

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_240, '1.2 kB'],
  [9_960, '10 kB'],
  [999_600, '1.0 MB'],
  [34_000_000, '34 MB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})
