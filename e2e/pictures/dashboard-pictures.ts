import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '@starflow/dsl'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../packages/server/tests/support/until.ts'
import { ROOT } from '../../scripts/repository.ts'
import { DashboardBrowser } from '../support/dashboard-page.ts'
import { dashboardWorld } from '../support/dashboard-world.ts'

/**
 * The pictures of the guide to the dashboard: `npm run pictures` makes them anew, of a shop on which an hour of orders has run. No test
 * of anything, so no part of the test runs.
 */
const FOLDER = join(ROOT, 'docs/guides/pictures')
const ORDERS = 90

const world = await dashboardWorld()
const browser = new DashboardBrowser(world)
const shop = await world.server.workspace('shop')
const { sql } = world.database

async function start(flow: string, input: Json, placement: 'queue' | 'runner' = 'queue'): Promise<string> {
  const { status, body } = await shop.post('/api/runs', { flow, input, placement })
  expect(status).toBe(201)
  return body.runId
}

const order = (id: number, lines: number, quantity = 2) => ({
  orderId: `A-${1000 + id}`,
  customer: { name: 'Ada Lovelace', email: 'ada@example.org' },
  lines: Array.from({ length: lines }, (_, index) => ({ sku: `SKU-${100 + index * 7}`, quantity })),
})

const untilStatus = (runId: string, wanted: string) =>
  until(
    async () => (await shop.get(`/api/runs/${runId}`)).body.status,
    (status) => status === wanted,
  )

let failed: string

beforeAll(async () => {
  await world.startWorkers({ but: ['importv1__load'] })
  const done: string[] = []
  for (let index = 0; index < ORDERS; index++) done.push(await start('orderV2', order(index, 1 + (index % 5))))
  for (const runId of done) await untilStatus(runId, 'success')
  world.isBankThere = false
  failed = await start('orderV2', order(ORDERS, 4))
  await untilStatus(failed, 'error')
  world.isBankThere = true
  for (let index = 1; index <= 3; index++) await start('orderV2', order(ORDERS + index, 2, 300 * index))
  const report = await start('reportV1', { month: '2026-11' }, 'runner')
  await untilStatus(report, 'paused')
  await start('importV1', { rows: 3 })
  // What took a moment is spread over the hour before, more of it towards its end.
  await sql`
    update pgflow.runs r set started_at = started_at - age, completed_at = completed_at - age
    from (select run_id, interval '58 minutes' * (1 - sqrt(row_number() over (order by md5(run_id::text)) / ${ORDERS}::float8)) as age
          from pgflow.runs where status = 'completed') old
    where old.run_id = r.run_id`
  await sql`
    update starflow.queue_runs q set started_at = r.started_at from pgflow.runs r where r.run_id = q.run_id`
  await sql`select starflow.sample_queues()`
  await sql`
    insert into starflow.queue_samples
      (queue_name, sampled_at, depth, in_flight, oldest_seconds, live_workers, archived_count, done, done_seconds)
    select queue_name, sampled_at - minute * interval '1 minute', wave.n, wave.n / 3, wave.n / 4.0, 1, 0, 20 + wave.n, 60
    from starflow.queue_samples, generate_series(1, 59) minute,
         lateral (select greatest(0, 14 + 12 * sin(minute / 6.0) + 5 * sin(minute / 1.7))::integer) wave (n)
    where queue_name = 'orderv2__charge'`
  await sql`delete from starflow.queue_samples where queue_name = 'orderv2__charge' and done is null`
}, 300_000)

test.each<[string, () => string, string]>([
  ['overview', () => '/?workspace=shop', 'Queues in trouble'],
  ['run', () => `/runs/${failed}?step=charge`, 'Why it failed'],
  ['flow', () => '/flows/orderV2?workspace=shop', 'orderId'],
  ['queue', () => '/queues/orderv2__charge', 'History'],
])(
  '%s',
  async (name, path, text) => {
    mkdirSync(FOLDER, { recursive: true })
    const page = await browser.open(path())
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await page.getByText(text).locator('visible=true').first().waitFor()
    await page.getByText('live', { exact: true }).first().waitFor()
    await page.getByText('Loading …').waitFor({ state: 'hidden' })
    await page.screenshot({ path: join(FOLDER, `${name}.png`) })
    await page.close()
  },
  60_000,
)
