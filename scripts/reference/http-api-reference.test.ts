import { expect, test } from 'vitest'
import { describeApi } from '../../packages/server/src/index.ts'
import { type ApiDescription, httpApiReference } from './http-api-reference.ts'

const page = httpApiReference(describeApi('0.0.0') as unknown as ApiDescription)

test('every endpoint has a heading, what it takes, what it answers and what it refuses', () => {
  expect(page).toContain('### POST /api/runs\n\nStart a run. Access: workspace.')
  expect(page).toContain('| `flow` | body | string, required | The slug of the flow. |')
  expect(page).toContain('- 201: The run was started. `runId` (uuid)')
  expect(page).toMatch(/### GET \/api\/runs\/\{runId\}\n[\s\S]*?Refusals: .*404 SF802/)
})
