import { Flow } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { workerFunctionOn } from './support/running-function.ts'

const { url } = await testDatabase({ template: 'platform' })

test('a worker on a database without our schema says which migrations to apply', async () => {
  const worker = workerFunctionOn(
    url,
    new Flow({ slug: 'orders' }).step({ slug: 'work' }, () => 1),
  )
  expect(await worker.ask()).toMatchObject({
    http: 500,
    status: 'failed',
    code: 'SF403',
    hint: expect.stringContaining('Apply the migrations'),
  })
  await worker.stop()
})
