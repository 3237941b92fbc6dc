import { extractFlowShape } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { readmeIndex, workers } from '../readme-index.ts'

test('every step has its own queue, with a readable name', () => {
  expect(readmeIndex.routes.map((route) => route.queueName)).toEqual([
    'readmeindexv1__parse',
    'readmeindexv1__links',
    'readmeindexv1__checklinks',
    'readmeindexv1__keywords',
    'readmeindexv1__index',
    'readmeindexv1__summary',
    'readmeindexv1__report',
  ])
})

test('a map checks the links, and a report needs a broken one', () => {
  const steps = new Map(extractFlowShape(readmeIndex.flow).steps.map((step) => [step.slug, step]))
  expect(steps.get('checkLinks')).toMatchObject({ stepType: 'map', dependencies: ['links'] })
  expect(steps.get('report')).toMatchObject({ whenUnmet: 'skip' })
  expect(JSON.stringify(steps.get('report'))).toContain('{"summary":{"hasBroken":true}}')
})

test('links are checked many at a time', () => {
  expect(workers.settings.checkLinks).toEqual({ maxConcurrent: 20, batchSize: 20 })
})
