import { expect, test } from 'vitest'
import { isolateOf } from './demo-platform.ts'

const isolate = (id: string, startedAtMs: number, name = 'parse') => ({ id, name, startedAt: new Date(startedAtMs) })
const worker = { functionName: 'parse', registeredAtMs: 200 }

test('a worker lives in the youngest isolate of its function that is older than itself', () => {
  expect(isolateOf(worker, [isolate('retired', 50), isolate('its own', 150), isolate('successor', 250)])?.id).toBe(
    'its own',
  )
  expect(isolateOf(worker, [isolate('other', 150, 'links')])).toBeUndefined()
  expect(isolateOf(worker, [])).toBeUndefined()
})
