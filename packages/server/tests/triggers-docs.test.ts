import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { testServer, testStorage } from './support/test-servers.ts'

test('the file of docs/guides/triggers.md starts a server, and its webhook a run', async () => {
  const guide = readFileSync(new URL('../../../docs/guides/triggers.md', import.meta.url), 'utf8')
  const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(guide)!
  const folder = mkdtempSync(join(tmpdir(), 'starflow-guide-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'starflow.yaml')
  writeFileSync(file, yaml!)
  const secret = 'a secret between GitHub and this test'
  const server = await testServer(await testStorage('sqlite'), {
    ...{ STARFLOW_CONFIG_FILE: file, GITHUB_WEBHOOK_SECRET: secret },
  })
  const body = JSON.stringify({ ref: 'refs/heads/main', pusher: { name: 'Ana' } })
  const response = await fetch(`${server.url}/webhooks/github`, {
    ...{ method: 'POST', body },
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  })
  const { outcome, runId } = (await response.json()) as { outcome: string; runId: string }
  expect([response.status, outcome]).toEqual([202, 'started'])
  const run = await server.operator.with({ 'starflow-workspace': 'celestial' }).get(`/api/runs/${runId}`)
  expect(run.body.input).toEqual({ name: 'Ana', note: 'none' })
})
