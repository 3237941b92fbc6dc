import { expect, test } from 'vitest'
import { MAX_SIGN_IN_CODES, SIGN_IN_CODE_TTL_MS } from '../numbers.ts'
import { SignInCodes } from './sign-in-codes.ts'

test('a code is good once', () => {
  const codes = new SignInCodes(() => 0)
  const code = codes.issue()
  expect(codes.redeem(code)).toBe(true)
  expect(codes.redeem(code)).toBe(false)
})

test('a code is over after a while, and one that was not issued never was good', () => {
  let now = 0
  const codes = new SignInCodes(() => now)
  const code = codes.issue()
  now = SIGN_IN_CODE_TTL_MS
  expect(codes.redeem(code)).toBe(false)
  expect(codes.redeem('')).toBe(false)
  expect(new SignInCodes(() => 0).redeem(code)).toBe(false)
})

test('only the last ones are kept', () => {
  const codes = new SignInCodes(() => 0)
  const [first, ...others] = Array.from({ length: MAX_SIGN_IN_CODES + 1 }, () => codes.issue())
  expect(codes.redeem(first as string)).toBe(false)
  expect(others.every((code) => codes.redeem(code))).toBe(true)
})
