import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

interface Vectors {
  slugs: { valid: string[]; invalid: { slug: string; reason: string }[] }
  queueNames: {
    claim: string
    flow: string
    steps: string[]
    queues?: string[]
    error?: { code: string; message?: string; detail?: string; hint?: string }
  }[]
}

const vectors = JSON.parse(readFileSync(new URL('../../dsl/vectors/names.json', import.meta.url), 'utf8')) as Vectors
const { sql } = await testDatabase()

const isValid = async (slug: string) => {
  const [row] = await sql<[{ valid: boolean }]>`select pgflow.is_valid_slug(${slug}) as valid`
  return row.valid
}

/** Compiles a flow of these steps and gives its queues back; the transaction is rolled back. */
const queuesOf = async (flow: string, steps: string[]) => {
  const stepShapes = { steps: steps.flatMap((slug) => shape({ [slug]: {} }).steps) }
  let queues: string[] = []
  await sql
    .begin(async (tx) => {
      const [row] = await tx<[{ result: { routes: { queueName: string }[] } }]>`
        select pgflow.ensure_flow_compiled(${flow}, ${JSON.stringify(stepShapes)}::text::jsonb, 'step') as result`
      queues = row.result.routes.map((route) => route.queueName)
      throw new RollBack()
    })
    .catch((error: unknown) => {
      if (!(error instanceof RollBack)) throw error
    })
  return queues
}

class RollBack extends Error {}

describe('SQL agrees with the naming vectors', () => {
  test.each(vectors.slugs.valid)('the slug %j is accepted', async (slug) => {
    expect(await isValid(slug)).toBe(true)
  })

  test.each(vectors.slugs.invalid)('the slug $slug is refused ($reason)', async ({ slug }) => {
    expect(await isValid(slug)).toBe(false)
  })

  test('a missing slug is refused', async () => {
    expect(await sql`select pgflow.is_valid_slug(null) as valid`).toEqual([{ valid: false }])
  })

  test.each(vectors.queueNames.filter((vector) => vector.queues !== undefined))('$claim', async (vector) => {
    expect(await queuesOf(vector.flow, vector.steps)).toEqual(vector.queues)
  })

  test.each(vectors.queueNames.filter((vector) => vector.error !== undefined))('$claim', async (vector) => {
    expect(await refusal(queuesOf(vector.flow, vector.steps))).toMatchObject(vector.error!)
  })

  test.each(vectors.slugs.invalid)('a flow and a step called $slug are refused as SF106', async ({ slug }) => {
    expect(await refusal(queuesOf('fine', [slug]))).toMatchObject({ code: 'SF106', hint: 'Rename the step.' })
    expect(await refusal(queuesOf(slug, ['a']))).toMatchObject({ code: 'SF106', hint: 'Rename the flow.' })
  })
})

test('two private queues of one flow never share a name', async () => {
  const steps = ['a_b', 'aB', 'ab1', 'x'.repeat(60), 'y'.repeat(60)]
  const queues = await queuesOf('distinct', steps)
  expect(new Set(queues).size).toBe(steps.length)
})

test('a step whose slug is an index cannot exist, so a fallback never meets a readable name', async () => {
  expect(await isValid('3')).toBe(false)
})
