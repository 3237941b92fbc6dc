import { afterEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { refusal } from './support/refusal.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

const get = async (key: string, client = sql) => {
  const [row] = await client<[{ value: string | null }]>`select pgflow.get_setting(${key}) as value`
  return row.value
}

const isLocal = async (settings: Record<string, string> = {}) => {
  const client = database.connect({ settings })
  const [row] = await client<[{ local: boolean }]>`select pgflow.is_local() as local`
  await client.end()
  return row.local
}

afterEach(() => sql`delete from pgflow.settings`)

describe('a setting', () => {
  test('is its default, then what was set, then its default again', async () => {
    expect(await get('max_requeues')).toBe('3')
    await core.setSetting('max_requeues', '9')
    expect(await get('max_requeues')).toBe('9')
    await core.setSetting('max_requeues', '10')
    expect(await get('max_requeues')).toBe('10')
    await core.setSetting('max_requeues', null)
    expect(await get('max_requeues')).toBe('3')
  })

  test('is null when it has no default', async () => {
    expect(await get('functions_base_url')).toBeNull()
  })

  test('is that of the configuration parameter of its name, when there is one', async () => {
    await core.setSetting('max_requeues', '9')
    const client = database.connect({ settings: { 'pgflow.max_requeues': '1' } })
    expect(await get('max_requeues', client)).toBe('1')
    await client.end()
  })

  test.each([
    ['local', 'on', null],
    ['functions_base_url', 'https://elsewhere.test', null],
    ['events_channel', 'public', 'private'],
    ['wait_token_kid', 'old', 'default'],
    ['mirror', 'on', 'off'],
    ['unowned_runs', 'visible', 'hidden'],
    ['test_clock', 'on', 'off'],
  ])('that weakens a check is never that of a configuration parameter: %s is not %s', async (key, wrong, value) => {
    const client = database.connect({ settings: { [`pgflow.${key}`]: wrong } })
    expect(await get(key, client)).toBe(value)
    await client.end()
  })

  test.each([
    ['max_requeues', 'abc', '9'],
    ['max_retry_delay', '1e9', '86400'],
    ['events', 'none', 'watched'],
  ])('of a configuration parameter that is not allowed is passed over: %s is not %s', async (key, wrong, value) => {
    await core.setSetting('max_requeues', '9')
    const client = database.connect({ settings: { [`pgflow.${key}`]: wrong } })
    expect(await get(key, client)).toBe(value)
    await client.end()
  })

  test('that is not known is refused with the known ones', async () => {
    expect(await refusal(core.setSetting('max_requeus', '1'))).toEqual({
      code: 'SF701',
      message: 'Setting "max_requeus" is not known.',
      detail:
        'Known settings: events, events_channel, functions_base_url, local, max_requeues, max_retry_delay, mirror, test_clock, unowned_runs, wait_token_kid.',
      hint: 'Use one of them.',
    })
  })

  test.each([
    ['local', 'yes'],
    ['max_requeues', '-1'],
    ['max_requeues', '1001'],
    ['max_requeues', '3.5'],
    ['max_retry_delay', 'one day'],
    ['max_retry_delay', '10000000'],
    ['functions_base_url', 'functions.test'],
    ['functions_base_url', 'http://functions.test/'],
    ['events', ''],
    ['events_channel', 'open'],
  ])('%s cannot be "%s"', async (key, value) => {
    expect(await refusal(core.setSetting(key, value))).toMatchObject({
      code: 'SF701',
      message: `Setting "${key}" cannot be "${value}".`,
      detail: expect.stringMatching(/^Allowed: /),
    })
    expect(await sql`select from pgflow.settings`).toHaveLength(0)
  })
})

describe('is_local', () => {
  const developmentSecret = { 'app.settings.jwt_secret': 'super-secret-jwt-token-with-at-least-32-characters-long' }

  test('is false without any sign', async () => {
    expect(await isLocal()).toBe(false)
  })

  test('is true for the development secret, and false for any other', async () => {
    expect(await isLocal(developmentSecret)).toBe(true)
    expect(await isLocal({ 'app.settings.jwt_secret': 'a real one' })).toBe(false)
  })

  test('is what the setting says, whatever the secret', async () => {
    await core.setSetting('local', 'off')
    expect(await isLocal(developmentSecret)).toBe(false)
    await core.setSetting('local', 'on')
    expect(await isLocal()).toBe(true)
  })
})

describe('the clock', () => {
  const settings = { 'pgflow.test_now': '2001-02-03 04:05:06Z' }

  test('is that of the database, although a test has set an instant, while test_clock is off', async () => {
    const client = database.connect({ settings })
    expect(await client`select pgflow.clock() = statement_timestamp() as is_now`).toEqual([{ is_now: true }])
    await client.end()
  })

  test('is the instant that a test has set while test_clock is on', async () => {
    await core.setSetting('test_clock', 'on')
    const client = database.connect({ settings })
    const [row] = await client<[{ clock: Date }]>`select pgflow.clock() as clock`
    await client.end()
    expect(row.clock.toISOString()).toBe('2001-02-03T04:05:06.000Z')
    expect(await sql`select pgflow.clock() = statement_timestamp() as is_now`).toEqual([{ is_now: true }])
  })
})
