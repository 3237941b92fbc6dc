import { expect, test } from 'vitest'
import { parseLimit } from './demo.command.ts'

test('a limit is a whole number from 1 on', () => {
  expect(parseLimit('20')).toBe(20)
  expect(parseLimit(undefined)).toBeUndefined()
})

test.each(['0', '-1', '1.5', 'many', '', '1e3', '99999999999999999999'])('a limit of "%s" is refused', (text) => {
  expect(() => parseLimit(text)).toThrow(expect.objectContaining({ code: 'SF001' }))
})
