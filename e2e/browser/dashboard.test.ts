import type { Json } from '@starflow/dsl'
import type { Page, Route } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { StarflowSql } from '../../packages/core/src/index.ts'
import { until } from '../../packages/server/tests/support/until.ts'
import { DashboardBrowser, problemsOf } from '../support/dashboard-page.ts'
import { dashboardWorld } from '../support/dashboard-world.ts'

const world = await dashboardWorld()
const { operatorToken } = world
const { sql } = world.database
const core = new StarflowSql(sql)
const browser = new DashboardBrowser(world)
const shop = await world.server.workspace('shop')

/** Of states of pages that are examined in every width otherwise. */
const NARROW = [380]
const LINE = { sku: 'SKU-1', quantity: 2 }
const FAILURE =
  'FlowShapeMismatchError: Flow "importV1" is compiled with another shape. Step "load" depends on "fetch" here, and on nothing there.'

interface ListedQueue {
  readonly troubles: readonly string[]
}

async function start(flow: string, input: Json): Promise<void> {
  expect((await shop.post('/api/runs', { flow, input, placement: 'queue' })).status).toBe(201)
}

beforeAll(() => world.startWorkers({ but: ['orderv2__confirm', 'importv1__fetch', 'importv1__load'] }), 60_000)
afterEach(() => browser.closePages())

describe('whoever is not signed in', () => {
  test('is asked for a token, told that a wrong one is wrong, and led back to where they were going', async () => {
    await browser.asStranger('/queues?q=order', async (page) => {
      await page.getByLabel('API token').fill('not-the-token')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('This token is not good here.').waitFor()
      expect(await problemsOf(page, 'sign-in')).toEqual([])
      await page.getByLabel('API token').fill(operatorToken)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Queues' }).waitFor()
      expect(new URL(page.url()).search).toBe('?q=order')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('API token').waitFor()
      await page.goto(browser.urlOf('/queues'))
      await page.getByLabel('API token').waitFor()
    })
  })

  test('is signed in by a link, once', async () => {
    const link = new URL(world.server.signInLink()!)
    const path = `${link.pathname}${link.hash}`
    await browser.asStranger(path, (page) => page.getByRole('heading', { name: 'Overview' }).waitFor())
    await browser.asStranger(path, (page) => page.getByText('This link is no longer good.').waitFor())
  })
})

test('a theme that was chosen outlives the page', async () => {
  const page = await browser.open('/queues')
  await page.getByRole('button', { name: 'Theme: as the system' }).click()
  await page.getByRole('button', { name: 'Theme: light' }).click()
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
  expect(await theme()).toBe('dark')
  await page.reload()
  await page.getByRole('button', { name: 'Theme: dark' }).click()
  expect(await theme()).toBeUndefined()
})

test('the keyboard leads past the navigation, to the search, and out of a dialog', async () => {
  const page = await browser.open('/queues')
  await page.getByRole('button', { name: 'Fence orderv2__charge' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')
  await page.keyboard.press('/')
  await page.keyboard.type('charge')
  await page.waitForURL(/\?q=charge/)
  await page.getByRole('button', { name: 'Fence orderv2__charge' }).press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('a function is fenced and restored, after asking', async () => {
  const page = await browser.open('/queues?q=wrap')
  const isEnabled = async () =>
    (await sql`select enabled from pgflow.worker_functions where function_name = 'orderv2__wrap'`)[0]?.enabled
  await page.getByRole('button', { name: 'Fence orderv2__wrap' }).click()
  await page.getByRole('heading', { name: /^Fence/ }).waitFor()
  // It is opened from a cell of a table, where lines do not break.
  expect(await page.getByRole('dialog').evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth)).toBe(0)
  await page.getByRole('dialog').getByRole('button', { name: 'Fence', exact: true }).click()
  await page.getByRole('button', { name: 'Restore orderv2__wrap' }).waitFor()
  expect(await isEnabled()).toBe(false)
  await page.getByRole('button', { name: 'Restore orderv2__wrap' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByRole('button', { name: 'Fence orderv2__wrap' }).waitFor()
  expect(await isEnabled()).toBe(true)
})

test('a worker that is killed leaves a gap in the coverage, which closes when another one is there', async () => {
  const victim = world.startWorkerProcess('orderv2__confirm')
  const page = await browser.open('/queues?q=confirm')
  await page.getByText('covered', { exact: true }).waitFor()
  process.kill(victim.pid!, 'SIGKILL')
  await page.getByText('idle, no worker').waitFor()
  await world.startWorker('orderv2__confirm')
  await page.getByText('covered', { exact: true }).waitFor()
})

describe('every page is accessible and fits its window, in light and dark, wide and narrow:', () => {
  /** Goes to a page whose requests are answered by nobody, or not yet. */
  const openWith = async (path: string, requests: string, fate: (route: Route) => Promise<void>): Promise<Page> => {
    const page = await browser.blank(path)
    await page.route(requests, fate)
    await page.goto(browser.urlOf(path))
    return page
  }

  beforeAll(async () => {
    // Nobody works on imports, and nobody may wrap.
    await core.trackWorkerFunction('importv1__fetch')
    await core.reportStartFailure('importv1__fetch', FAILURE)
    await sql`select * from pgflow.fence_worker_functions('{orderv2__wrap}', 'ana')`
    const order = { orderId: 'A-1', customer: { name: 'Ada', email: 'ada@example.org' }, lines: [LINE] }
    await start('orderV2', order)
    await start('importV1', { rows: 3 })
    await until(
      async () => (await world.server.operator.get('/api/queues')).body.queues as ListedQueue[],
      (queues) => queues.filter(({ troubles }) => troubles.length > 0).length === 2,
    )
    // Somebody measures one of the functions from outside.
    const [charge] = await sql<{ worker_id: string; execution_id: string }[]>`
      select worker_id, execution_id from pgflow.workers where function_name = 'orderv2__charge'`
    await core.reportUsage(charge!.worker_id, { tasks: 1600, cpuMs: null })
    await core.reportCpu({ [charge!.execution_id]: 500 })
    await sql`select starflow.sample_queues()`
    await sql`
      insert into starflow.queue_samples
        (queue_name, sampled_at, depth, in_flight, oldest_seconds, live_workers, archived_count, done, done_seconds)
      select queue_name, sampled_at - n * interval '1 minute', 40 + 30 * sin(n / 7.0), 4, 20, 1, 0, 60, 60
      from starflow.queue_samples, generate_series(1, 59) n where queue_name = 'orderv2__charge'`
  })

  test('CPU per task stands beside functions and workers, and a dash says why there is none', async () => {
    const page = await browser.open('/workers')
    for (const label of ['Functions', 'Workers']) {
      const table = page.getByRole('table', { name: label })
      const cpuOf = (name: string) => table.getByRole('row').filter({ hasText: name }).first()
      await cpuOf('orderv2__charge').getByText('0.31 ms').waitFor()
      await cpuOf('orderv2__check').getByTitle('an edge function on hosted Supabase cannot measure itself').waitFor()
    }
  })

  test.each([
    ['overview', '/', 'importv1__fetch'],
    ['queues', '/queues', 'importv1__fetch'],
    ['queue', '/queues/orderv2__charge', 'History'],
    ['queue-fenced', '/queues/orderv2__wrap', 'fenced'],
    ['workers', '/workers', 'start failed'],
    ['runners', '/runners', 'Every queued run is served.'],
    ['overview-empty', '/?workspace=nobody', 'Queues in trouble'],
    ['queues-none', '/queues?q=no-such-queue', 'no-such-queue'],
  ])(
    '%s',
    async (name, path, text) => {
      const page = await browser.open(path)
      await page.getByText(text).locator('visible=true').first().waitFor()
      expect(await problemsOf(page, name)).toEqual([])
    },
    120_000,
  )

  test('a page that is loading', async () => {
    const page = await openWith('/queues', '**/api/queues*', () => new Promise(() => {}))
    await page.getByRole('heading', { name: 'Queues' }).waitFor()
    expect(await problemsOf(page, 'loading', { widths: NARROW })).toEqual([])
  })

  test('a page whose server does not answer', async () => {
    const page = await openWith('/queues', '**/api/queues*', (route) => route.abort())
    await page.getByText('The server cannot be reached.').waitFor()
    expect(await problemsOf(page, 'unreachable', { widths: NARROW })).toEqual([])
  })

  test('a page whose server is gone while it is open', async () => {
    const page = await browser.blank('/queues')
    await page.goto(browser.urlOf('/queues'))
    await page.getByText('importv1__fetch').first().waitFor()
    await page.route('**/api/**', (route) => route.abort())
    await page.getByText('server not reached').first().waitFor({ state: 'attached' })
    await page.getByText('importv1__fetch').first().waitFor()
    expect(await problemsOf(page, 'unreached', { widths: NARROW })).toEqual([])
  })
})

test('nothing went wrong in any page', () => {
  expect(browser.errors).toEqual([])
})
