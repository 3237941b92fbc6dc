import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { signToken, verifyToken } from './json-web-token.ts'

const SECRET = 'a secret that only tests know'
const NOW = Date.parse('2026-01-01T00:00:00Z')
const NOW_SECONDS = NOW / 1000

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A token whose parts are whatever they are, signed properly. */
function signed(header: unknown, claims: unknown, secret = SECRET): string {
  const content = `${encode(header)}.${encode(claims)}`
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`
}

test('a token gives its claims to whom knows the secret', () => {
  const claims = { role: 'authenticated', sub: '1', exp: NOW_SECONDS + 1, nbf: NOW_SECONDS }
  expect(verifyToken(signToken(claims, SECRET), SECRET, NOW)).toEqual({ claims })
})

test('a token ends at the second that it names, and begins not before', () => {
  const at = (claims: object) => verifyToken(signToken({ ...claims }, SECRET), SECRET, NOW)
  expect(at({ exp: NOW_SECONDS })).toEqual({ problem: 'expired' })
  expect(at({ nbf: NOW_SECONDS + 1 })).toEqual({ problem: 'not valid yet' })
})

test('a token of another secret, or with another payload, has the wrong signature', () => {
  expect(verifyToken(signToken({ role: 'anon' }, 'other'), SECRET, NOW)).toEqual({ problem: 'wrong signature' })
  const [header, , signature] = signToken({ role: 'anon' }, SECRET).split('.')
  const forged = `${header}.${encode({ role: 'service_role' })}.${signature}`
  expect(verifyToken(forged, SECRET, NOW)).toEqual({ problem: 'wrong signature' })
})

test.each([
  ['the algorithm none', signed({ alg: 'none' }, { role: 'anon' })],
  ['an algorithm of other keys', signed({ alg: 'RS256' }, { role: 'anon' })],
  ['claims that are a list', signed({ alg: 'HS256' }, ['anon'])],
  ['an end that is no number', signed({ alg: 'HS256' }, { exp: 'never' })],
  ['no signature', `${encode({ alg: 'HS256' })}.${encode({ role: 'anon' })}`],
  ['a fourth part', `${signToken({ role: 'anon' }, SECRET)}.x`],
  ['no JSON', 'a.b.c'],
  ['nothing', ''],
])('a token with %s is refused', (_what, token) => {
  expect(verifyToken(token, SECRET, NOW)).toEqual({ problem: 'malformed' })
})
