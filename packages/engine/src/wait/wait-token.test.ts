import { readFileSync } from 'node:fs'
import { isStarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import { signWaitToken, verifyWaitToken, type WaitTokenClaims, type WaitTokenKey } from './wait-token.ts'

interface Vectors {
  keys: WaitTokenKey[]
  tokens: { claim: string; kid: string; claims: WaitTokenClaims; token: string }[]
  refused: { claim: string; token: string; code: string }[]
}

const { keys, tokens, refused } = JSON.parse(
  readFileSync(new URL('../../vectors/wait-tokens.json', import.meta.url), 'utf8'),
) as Vectors
const NOW = Date.UTC(2026, 5, 1)
const key = keys[0]!
const claims: WaitTokenClaims = { placement: 'runner', runId: 'run-1', stepSlug: 'approve', expiresAt: NOW / 1000 + 60 }

describe('TypeScript agrees with the vectors of wait tokens', () => {
  it.each(tokens)('signs and reads $claim', ({ kid, claims, token }) => {
    expect(signWaitToken(claims, keys.find((each) => each.kid === kid)!)).toBe(token)
    expect(verifyWaitToken(token, keys, NOW)).toEqual(claims)
  })

  it.each(refused)('refuses $claim', ({ token, code }) => {
    expect(refusalOf(() => verifyWaitToken(token, keys, NOW))).toMatchObject({ code })
  })
})

describe('a wait token', () => {
  it('expires at its second, by the clock that is passed', () => {
    const token = signWaitToken(claims, key)
    expect(verifyWaitToken(token, keys, NOW + 59_999)).toEqual(claims)
    expect(refusalOf(() => verifyWaitToken(token, keys, NOW + 60_000))).toMatchObject({
      code: 'SF208',
      detail: 'It was good until 2026-06-01 00:01:00 UTC.',
    })
  })

  it('of a key that no longer signs is good while the key is there', () => {
    const old = signWaitToken(claims, keys[1]!)
    expect(verifyWaitToken(old, [key, keys[1]!], NOW)).toEqual(claims)
    expect(refusalOf(() => verifyWaitToken(old, [key], NOW))).toMatchObject({ code: 'SF207' })
  })

  it('is refused in one text, whatever is wrong with it', () => {
    const texts = refused
      .filter(({ code }) => code === 'SF207')
      .map(({ token }) => refusalOf(() => verifyWaitToken(token, keys, NOW)))
    expect(new Set(texts.map(({ message, detail, hint }) => `${message} ${detail} ${hint}`)).size).toBe(1)
  })

  it.each([undefined, null, 7, {}, []])('%j is no token', (token) => {
    expect(refusalOf(() => verifyWaitToken(token as string, keys, NOW))).toMatchObject({ code: 'SF207' })
  })

  it.each([
    ['a secret of 31 characters', { kid: 'k', secret: 'x'.repeat(31) }],
    ['a secret of white space', { kid: 'k', secret: ' '.repeat(40) }],
    ['a name with a dot', { kid: 'a.b', secret: key.secret }],
    ['no name', { kid: '', secret: key.secret }],
  ])('is neither signed nor read with a key that has %s', (_, bad) => {
    expect(refusalOf(() => signWaitToken(claims, bad))).toMatchObject({ code: 'SF206' })
    expect(refusalOf(() => verifyWaitToken(signWaitToken(claims, key), [key, bad], NOW))).toMatchObject({
      code: 'SF206',
    })
  })

  it('is the same with white space around the secret', () => {
    expect(signWaitToken(claims, { kid: key.kid, secret: `\n ${key.secret}\t` })).toBe(signWaitToken(claims, key))
  })

  it.each([
    ['runId', 'a"b'],
    ['runId', ''],
    ['stepSlug', 'each[3]'],
    ['stepSlug', 's'.repeat(129)],
    ['expiresAt', Number.NaN],
    ['expiresAt', Number.POSITIVE_INFINITY],
  ])('cannot have the %s %j', (claim, value) => {
    expect(refusalOf(() => signWaitToken({ ...claims, [claim]: value }, key))).toMatchObject({ code: 'SF001' })
  })
})

function refusalOf(act: () => unknown) {
  try {
    act()
  } catch (error) {
    if (isStarflowError(error)) return error
    throw error
  }
  throw new Error('nothing was refused')
}
