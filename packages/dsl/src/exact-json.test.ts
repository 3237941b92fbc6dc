import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactJsonText, findStandIn, parseExactJson, roundedNumber } from './index.ts'

describe('parseExactJson', () => {
  it.each([
    ['1970670598291982290', '$'],
    ['{"id":1970670598291982290}', '$.id'],
    ['[1,{"a b":[-9007199254740993]}]', '$[1]["a b"][0]'],
    ['{"id":1152921504606846976}', '$.id'],
    ['{"a":"\\"","b":12345678901234567890.12}', '$.b'],
    ['{"a":1e400}', '$.a'],
    ['{"a":9007199254740.993e3}', '$.a'],
    ['["\\\\",9007199254740993]', '$[1]'],
  ])('%s is written as it was read, and told with its path', (text, path) => {
    const value = parseExactJson(text)
    expect(exactJsonText(value)).toBe(text)
    expect(roundedNumber(value)).toBe(path)
    expect(findStandIn({ input: value })).toBe(`$.input${path.slice(1)}`)
  })

  it.each([
    '9007199254740991',
    '-9007199254740992',
    '100000000000000000000000',
    '1e+23',
    '0.12345678901234567890',
    '3.3333333333333333',
    '{"id":"1970670598291982290"}',
    '{"1970670598291982290":"1e400"}',
    '["\\"1970670598291982290\\""]',
  ])('%s is read as JSON.parse does', (text) => {
    expect(parseExactJson(text)).toEqual(JSON.parse(text))
    expect(roundedNumber(parseExactJson(text))).toBeUndefined()
  })

  it.each([
    '01234567890123456789',
    '1234567890123456789x',
    '{1234567890123456789:1}',
    '.1234567890123456789',
    '[12345678901234567890',
  ])('%s is no JSON, here either', (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError)
  })

  it('keeps whole numbers of any length, and marks nothing that JavaScript wrote', () => {
    fc.assert(
      fc.property(
        fc.bigInt(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.string(),
        (whole, double, key) => {
          const written = JSON.stringify({ [key]: double })
          expect(exactJsonText(parseExactJson(written))).toBe(written)
          expect(roundedNumber(parseExactJson(written))).toBeUndefined()
          const kept = exactJsonText(parseExactJson(`[${whole}]`)).slice(1, -1)
          expect(kept.includes('e') ? Number(kept) : BigInt(kept)).toEqual(kept.includes('e') ? Number(whole) : whole)
        },
      ),
    )
  })

  it('looks through a text of a million quotes and digits in a time that grows with its length', () => {
    const text = `[${'"\\\\\\"1234567890123456789",'.repeat(100_000)}${'9'.repeat(100_000)},1.${'0'.repeat(100_000)}1]`
    expect(exactJsonText(parseExactJson(text))).toHaveLength(text.length - 100_002)
  })
})
