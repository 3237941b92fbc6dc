import { isStarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import { readEnvironment, requireEnvironment } from './worker-environment.ts'

describe('readEnvironment', () => {
  it('prefers the dedicated secret, which then is the only one', () => {
    const { secrets } = readEnvironment({ STARFLOW_AUTH_SECRET: 'own', SUPABASE_SERVICE_ROLE_KEY: 'service' })
    expect(secrets).toEqual(['own'])
    expect(readEnvironment({ PGFLOW_AUTH_SECRET: 'released' }).secrets).toEqual(['released'])
  })

  it('counts an empty secret as unset', () => {
    const { secrets } = readEnvironment({ STARFLOW_AUTH_SECRET: ' ', SUPABASE_SERVICE_ROLE_KEY: 'service' })
    expect(secrets).toEqual(['service'])
  })

  it('takes the secret keys of a project beside its service role key', () => {
    const env = { SUPABASE_SERVICE_ROLE_KEY: 'legacy', SUPABASE_SECRET_KEYS: '{"default":"sb_secret_1"}' }
    expect(readEnvironment(env).secrets).toEqual(['legacy', 'sb_secret_1'])
    expect(readEnvironment({ SUPABASE_SECRET_KEYS: 'not json' }).secrets).toEqual([])
  })

  it('logs JSON where it is hosted, plain lines elsewhere', () => {
    expect(readEnvironment({ SB_REGION: 'eu-central-1' }).logFormat).toBe('json')
    expect(readEnvironment({}).logFormat).toBe('plain')
  })
})

describe('requireEnvironment', () => {
  it('names everything that is missing at once', () => {
    try {
      requireEnvironment(readEnvironment({ SUPABASE_DB_URL: '' }), { databaseUrl: true, secret: true })
      expect.unreachable()
    } catch (error) {
      expect(isStarflowError(error, 'SF002')).toBe(true)
      expect((error as Error).message).toBe('Missing environment variables: SUPABASE_DB_URL, STARFLOW_AUTH_SECRET.')
    }
  })
})
