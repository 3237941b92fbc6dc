import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { loadApiKeys } from './api-keys.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

test('a key is an HS256 token that names its role', () => {
  const keys = loadApiKeys(`${temporaryFolder()}/keys.json`, NOW)
  for (const [token, role] of [
    [keys.anonKey, 'anon'],
    [keys.serviceRoleKey, 'service_role'],
  ] as const) {
    const [header, claims, signature] = token.split('.')
    const decode = (part: string | undefined) => JSON.parse(Buffer.from(part!, 'base64url').toString())
    expect(decode(header)).toEqual({ alg: 'HS256', typ: 'JWT' })
    expect(decode(claims)).toMatchObject({ role, iss: 'supabase', iat: NOW / 1000 })
    expect(decode(claims).exp).toBeGreaterThan(NOW / 1000)
    expect(signature).toBe(createHmac('sha256', keys.jwtSecret).update(`${header}.${claims}`).digest('base64url'))
  }
})

test('the opaque keys are texts that tell nothing of the secret', () => {
  const { publishableKey, secretKey, jwtSecret } = loadApiKeys(`${temporaryFolder()}/keys.json`, NOW)
  expect(publishableKey).toMatch(/^sb_publishable_[A-Za-z0-9_-]{43}$/)
  expect(secretKey).toMatch(/^sb_secret_[A-Za-z0-9_-]{43}$/)
  expect(publishableKey.slice(-43)).not.toBe(secretKey.slice(-43))
  expect(publishableKey + secretKey).not.toContain(jwtSecret)
})

test('keys stay the same, and differ from folder to folder', () => {
  const file = `${temporaryFolder()}/keys.json`
  const keys = loadApiKeys(file, NOW)
  expect(loadApiKeys(file, NOW + 1_000_000)).toEqual(keys)
  expect(loadApiKeys(`${temporaryFolder()}/keys.json`, NOW).jwtSecret).not.toBe(keys.jwtSecret)
})
