import { describe, test } from 'vitest'
import { realtimeChecks } from './supabase-js/realtime-checks.ts'
import { restChecks } from './supabase-js/rest-checks.ts'
import { startApiPlatform } from './support/api-platform.ts'

const { context } = await startApiPlatform()

describe('supabase-js in Node', () => {
  test.each(restChecks)('$title', ({ run }) => run(context))
  test.each(realtimeChecks)('$title', ({ run }) => run(context))
})
