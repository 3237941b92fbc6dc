import { extractFlowShape, Flow } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { shapeHash } from './definition.ts'

const flow = new Flow<{ kind: string; size: number }>({ slug: 'orders' })
  .step({ slug: 'load', if: { kind: 'a', size: 1 } }, () => [1])
  .map({ slug: 'double', array: 'load', whenExhausted: 'skip' }, (n) => n * 2)
const hash = await shapeHash(extractFlowShape(flow))

test('the hash of a structure is what it was: stored definitions depend on it', () => {
  expect(hash).toBe('727b0cbb492d1f531ce52f7ce7eb5809c195a4df1aef976cad0b93b7e651bc4b')
})

test('options and the order of keys in a pattern change no hash', async () => {
  const same = new Flow<{ kind: string; size: number }>({ slug: 'orders', maxAttempts: 9, timeout: 5 })
    .step({ slug: 'load', if: { size: 1, kind: 'a' }, baseDelay: 3 }, () => [1])
    .map({ slug: 'double', array: 'load', whenExhausted: 'skip', startDelay: 4 }, (n) => n * 2)
  expect(await shapeHash(extractFlowShape(same))).toBe(hash)
})

test.each([
  ['a mode', { slug: 'load', if: { kind: 'a' }, whenUnmet: 'fail' }],
  ['a condition', { slug: 'load', if: { kind: 'b' } }],
  ['no condition', { slug: 'load' }],
  ['a name', { slug: 'read', if: { kind: 'a' } }],
] as const)('%s makes another hash', async (_what, options) => {
  const hashOf = (step: typeof options) =>
    shapeHash(extractFlowShape(new Flow<{ kind: string }>({ slug: 'orders' }).step(step, () => 1)))
  expect(await hashOf(options)).not.toBe(await hashOf({ slug: 'load', if: { kind: 'a' } }))
})
