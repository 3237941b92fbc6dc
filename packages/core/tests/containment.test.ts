import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'

const { vectors } = JSON.parse(
  readFileSync(new URL('../../dsl/vectors/containment.json', import.meta.url), 'utf8'),
) as { vectors: { claim: string; value: string; pattern: string; contains: boolean }[] }
const { sql } = await testDatabase()

test.each(vectors)('$claim', async ({ value, pattern, contains }) => {
  const [row] = await sql`select pgflow._condition_is_met(${value}::text::jsonb, ${pattern}::text::jsonb, null) as met`
  expect(row!.met).toBe(contains)
})
