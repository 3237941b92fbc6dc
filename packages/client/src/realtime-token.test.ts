import { expect, test } from 'vitest'
import { hasEnded, isRefusal } from './realtime-token.ts'

const NOW = 1_800_000_000_000
const tokenOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`

test.each([
  [tokenOf({ exp: NOW / 1000 - 1 }), true],
  [tokenOf({ exp: NOW / 1000 + 60, name: 'Ünï?>' }), false],
  [tokenOf({}), false],
  ['sb_publishable_abc', false],
  ['a.b.c', false],
  [null, false],
])('case %#: a token has ended when its exp has passed, and only then', (token, expected) => {
  expect(hasEnded(token, NOW)).toBe(expected)
})

test.each([
  ['InvalidJWTToken: Token has expired', true],
  ['Unauthorized: You do not have permissions to read from this Channel topic: x', true],
  ['channel error: transport failure', false],
])('a channel that was answered with %j was refused: %s', (message, expected) => {
  expect(isRefusal(new Error(message))).toBe(expected)
})
