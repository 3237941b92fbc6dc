import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ServerProcesses } from './support/server-processes.ts'
import { testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

test('two edges fire every second of a schedule once, and one of them that is killed loses none', {
  timeout: 180_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'starflow-schedule-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'starflow.yaml')
  writeFileSync(
    file,
    "triggers: { tick: { cron: '* * * * * *', flow: slowV1, input: { name: tick }, catchUp: all, catchUpLimit: 100 } }\n",
  )
  const storage = await testStorage('supabase')
  const processes = new ServerProcesses(storage)
  const [first] = await Promise.all(
    ['edge-1', 'edge-2'].map((id) =>
      processes.start('edge', {
        STARFLOW_CONFIG_FILE: file,
        STARFLOW_SERVICE_ID: id,
        STARFLOW_DEFAULT_WORKSPACE: 'shop',
      }),
    ),
  )
  const { sql } = storage.database!
  const firings = () => sql<{ at: number; status: string; run_id: string | null }[]>`
    select extract(epoch from scheduled_at)::int as at, status, run_id from starflow.trigger_firings order by scheduled_at`
  await until(firings, (rows) => rows.length >= 5, 60_000)
  first!.child.kill('SIGKILL')
  const { length } = await firings()
  await until(firings, (rows) => rows.length >= length + 5, 60_000)
  const last = (await firings()).at(-1)!.at
  const rows = await until(
    async () => (await firings()).filter(({ at }) => at <= last),
    (each) => each.every(({ status }) => status === 'started'),
    60_000,
  )
  expect(rows.map(({ at }) => at)).toEqual(rows.map((_, index) => rows[0]!.at + index))
  expect(new Set(rows.map(({ run_id }) => run_id)).size).toBe(rows.length)
  const runs = await sql`
    select idempotency_key from starflow.workflow_runs where idempotency_key <= ${`schedule/tick/${new Date(last * 1000).toISOString()}`}`
  expect(runs).toHaveLength(rows.length)
})
