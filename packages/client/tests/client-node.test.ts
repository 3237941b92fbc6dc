import { describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { problemOf } from './checks/client-check.ts'
import { clientChecks } from './checks/client-checks.ts'
import { clientPlatform } from './support/client-platform.ts'

const { facts } = await clientPlatform()

describe('with the real supabase-js, in Node,', () => {
  test.each(clientChecks)('$title', async (check) => {
    expect(await problemOf(check, facts, WebSocket)).toBeUndefined()
  })
})
