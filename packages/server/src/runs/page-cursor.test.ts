import { expect, it } from 'vitest'
import { decodeCursor, encodeCursor } from './page-cursor.ts'

it('a cursor is read as it was written', () => {
  for (const cursor of [{}, { queue: 'a', runner: 'ß' }, { queue: null, runner: 'b' }, { runner: null }]) {
    expect(decodeCursor(encodeCursor(cursor))).toEqual(cursor)
  }
})

it('what is no cursor is refused', () => {
  for (const value of [null, 'queue', 7, [], ['a'], { queue: 7 }, { runner: {} }, { queue: 'a', other: 'b' }]) {
    const text = Buffer.from(JSON.stringify(value)).toString('base64url')
    expect(() => decodeCursor(text), JSON.stringify(value)).toThrow(expect.objectContaining({ code: 'SF902' }))
  }
  expect(() => decodeCursor('no JSON')).toThrow(expect.objectContaining({ code: 'SF902' }))
})
