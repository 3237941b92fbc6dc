import { isStarflowError } from '@starflow/errors'
import { describe, expect, test } from 'vitest'
import { chooseSubstrate, requireSubstrate } from './substrate.ts'

const PROJECT = 'http://127.0.0.1:54321'
const SUPABASE = { SUPABASE_URL: PROJECT, SUPABASE_SERVICE_ROLE_KEY: 'key' }

function refusalOf(env: Record<string, string>): { message: string; detail: string; problems: readonly string[] } {
  try {
    requireSubstrate(env)
  } catch (error) {
    if (isStarflowError(error, 'SF822')) {
      return { message: error.message, detail: error.detail ?? '', problems: error.fields.problems as string[] }
    }
    throw error
  }
  throw new Error('It was not refused.')
}

describe('STARFLOW_QUEUE_SUBSTRATE', () => {
  test.each([
    ['unset', {}],
    ['auto', { STARFLOW_QUEUE_SUBSTRATE: 'auto' }],
    ['empty', { STARFLOW_QUEUE_SUBSTRATE: ' ' }],
  ])('%s means Supabase where its URL is set, else SQLite', (_, env) => {
    expect(requireSubstrate(env)).toEqual({ kind: 'sqlite', path: '.starflow/runs.db' })
    expect(requireSubstrate({ ...env, ...SUPABASE })).toEqual({ kind: 'supabase', url: PROJECT, key: 'key' })
  })

  test('supabase is refused without the URL', () => {
    const { problems } = refusalOf({ STARFLOW_QUEUE_SUBSTRATE: 'supabase' })
    expect(problems).toEqual([expect.stringContaining('SUPABASE_URL')])
    expect(requireSubstrate({ STARFLOW_QUEUE_SUBSTRATE: 'supabase', ...SUPABASE }).kind).toBe('supabase')
  })

  test('sqlite is forced also where Supabase is set', () => {
    expect(requireSubstrate({ STARFLOW_QUEUE_SUBSTRATE: 'sqlite', ...SUPABASE }).kind).toBe('sqlite')
  })

  test('spacetime is refused as reserved, with why and what to use instead', () => {
    const { problems } = refusalOf({ STARFLOW_QUEUE_SUBSTRATE: 'spacetime', ...SUPABASE })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(/reserved.*no adapter.*supabase.*sqlite/)
  })

  test('any other value is answered with those that there are', () => {
    const { problems } = refusalOf({ STARFLOW_QUEUE_SUBSTRATE: 'Postgres' })
    expect(problems).toEqual(['STARFLOW_QUEUE_SUBSTRATE is "Postgres"; it may be auto, supabase or sqlite.'])
  })
})

describe('the settings of a substrate', () => {
  test('the URL of Supabase and its key are both set or neither', () => {
    expect(refusalOf({ SUPABASE_URL: PROJECT }).problems).toEqual([
      expect.stringContaining('SUPABASE_SERVICE_ROLE_KEY'),
    ])
    expect(refusalOf({ SUPABASE_SECRET_KEY: 'key' }).problems).toEqual([expect.stringContaining('SUPABASE_URL is not')])
  })

  test('all problems are told in one error', () => {
    const { message, detail, problems } = refusalOf({ STARFLOW_QUEUE_SUBSTRATE: 'redis', SUPABASE_URL: 'localhost' })
    expect(problems).toHaveLength(3)
    expect(message).toContain('3 problems')
    for (const problem of problems) expect(detail).toContain(problem)
  })

  test('no key is repeated in an error', () => {
    const { detail } = refusalOf({ STARFLOW_QUEUE_SUBSTRATE: 'redis', SUPABASE_SERVICE_ROLE_KEY: 's3cret' })
    expect(detail).not.toContain('s3cret')
  })

  test('a file is named by STARFLOW_SQLITE_PATH', () => {
    expect(requireSubstrate({ STARFLOW_SQLITE_PATH: '/data/runs.db' })).toEqual({
      kind: 'sqlite',
      path: '/data/runs.db',
    })
  })

  test('a program with other problems gets these without an exception', () => {
    expect(chooseSubstrate({ STARFLOW_QUEUE_SUBSTRATE: 'redis' })).toEqual({ problems: [expect.any(String)] })
    expect(chooseSubstrate({})).toEqual({ substrate: { kind: 'sqlite', path: '.starflow/runs.db' } })
  })
})
