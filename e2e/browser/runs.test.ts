import type { Json } from '@starflow/dsl'
import type { Locator, Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testServer, testStorage } from '../../packages/server/tests/support/test-servers.ts'
import { until } from '../../packages/server/tests/support/until.ts'
import { DashboardBrowser, problemsOf } from '../support/dashboard-page.ts'
import { dashboardWorld } from '../support/dashboard-world.ts'

const world = await dashboardWorld()
const browser = new DashboardBrowser(world)
const shop = await world.server.workspace('shop')
const { sql } = world.database

const order = (lines: number, quantity = 2) => ({
  orderId: `A-${lines}`,
  customer: { name: 'Ada Lovelace', email: 'ada@example.org' },
  lines: Array.from({ length: lines }, (_, index) => ({ sku: `SKU-${index}`, quantity })),
})

async function start(flow: string, input: Json, placement: 'queue' | 'runner' = 'queue'): Promise<string> {
  const { status, body } = await shop.post('/api/runs', { flow, input, placement })
  expect(status).toBe(201)
  return body.runId
}

async function statusOf(runId: string): Promise<string> {
  return (await shop.get(`/api/runs/${runId}`)).body.status
}

const step = (page: Page, name: string) =>
  page.getByRole('region', { name: 'Steps', exact: true }).getByRole('button', { name: new RegExp(`^${name}\\b`) })

beforeAll(async () => {
  await world.startWorkers()
})
afterEach(async () => {
  world.payment.open()
  world.isBankThere = true
  await browser.closePages()
})

/** Scrolls a list that is loaded as far as one scrolls, until a row of it is there. */
async function scrollTo(list: Locator, text: string): Promise<void> {
  while (!(await list.getByText(text, { exact: true }).isVisible())) {
    await list.evaluate((element) => element.scrollTo({ top: element.scrollTop + element.clientHeight }))
  }
}

describe('a run', () => {
  test('on a runner shows what a step says of its progress while it runs', async () => {
    world.payment.close()
    const runId = await start('exportV1', {}, 'runner')
    const page = await browser.open(`/runs/${runId}?workspace=shop&step=write`)
    const panel = page.getByRole('complementary', { name: 'Step write' })
    await panel.getByRole('heading', { name: 'Progress' }).waitFor()
    await panel.getByText('120').waitFor()
    world.payment.open()
    await panel.getByRole('heading', { name: 'Output' }).waitFor()
    expect(await panel.getByRole('heading', { name: 'Progress' }).count()).toBe(0)
  })

  test('is started from the form of its flow, and watched to its end', async () => {
    world.payment.close()
    const page = await browser.open('/flows/orderV2?workspace=shop')
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.getByText('The input is not right yet.').waitFor()
    await page.getByText('is not of the form email', { exact: false }).waitFor()

    await page.getByLabel('orderId').fill('A-7')
    await page.getByLabel('name', { exact: true }).fill('Ada Lovelace')
    await page.getByLabel('email').fill('ada@example.org')
    await page.getByRole('button', { name: 'Add to lines' }).click()
    await page.getByLabel('sku').fill('SKU-1')
    await page.getByLabel('quantity').fill('3')
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/)
    await step(page, 'charge')
      .and(page.getByRole('button', { name: /started/ }))
      .waitFor()
    const box = await step(page, 'charge').boundingBox()

    world.payment.open()
    await step(page, 'confirm')
      .and(page.getByRole('button', { name: /completed/ }))
      .waitFor()
    await page.getByText('run completed', { exact: true }).waitFor()
    // What has happened has moved nothing.
    expect(await step(page, 'charge').boundingBox()).toEqual(box)
    await step(page, 'approve').click()
    await page.getByText('Its condition was not met.').waitFor()
  })

  test('that failed is retried, and completes', async () => {
    world.isBankThere = false
    const runId = await start('orderV2', order(2))
    await until(
      () => statusOf(runId),
      (status) => status === 'error',
    )
    const page = await browser.open(`/runs/${runId}?step=charge`)
    await page
      .getByRole('region', { name: 'Why it failed' })
      .getByText('The bank does not answer', { exact: false })
      .first()
      .waitFor()
    await page.getByText('Stack').click()
    await page
      .getByText('at charge', { exact: false })
      .or(page.getByText('dashboard-flows', { exact: false }))
      .first()
      .waitFor()
    world.isBankThere = true
    await page.getByRole('button', { name: 'Retry failed steps' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry failed steps' }).click()
    await page.getByText('run completed', { exact: true }).waitFor()
  })

  test('is cancelled with a reason, which stays with it', async () => {
    const runId = await start('reportV1', { month: '2026-10' }, 'runner')
    await until(
      () => statusOf(runId),
      (status) => status === 'paused',
    )
    const page = await browser.open(`/runs/${runId}`)
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByLabel('Reason').fill('asked for twice')
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await page.getByText('asked for twice').first().waitFor()
    expect(await statusOf(runId)).toBe('cancelled')
  })

  test('with a map shows its tasks as far as one scrolls, and each with its output', async () => {
    const runId = await start('orderV2', order(400))
    await until(
      () => statusOf(runId),
      (status) => status === 'success',
    )
    const page = await browser.open(`/runs/${runId}?step=reserve`)
    const list = page.getByRole('region', { name: 'List of tasks' })
    await list.getByRole('button', { name: /^\[0\]/ }).waitFor()
    await scrollTo(list, '[350]')
    await list.getByRole('button', { name: /^\[350\]/ }).waitFor()
    expect(await list.getByRole('button').count()).toBeLessThan(60)
    await list
      .getByRole('button', { name: /^\[35\d\]/ })
      .first()
      .click()
    await page
      .getByRole('region', { name: /^Task 35\d$/ })
      .getByText(/"SKU-35\d"/)
      .waitFor()
    expect(page.url()).toMatch(/task=35\d/)
  })
})

describe('a wait', () => {
  test('is approved in the inbox, and its run goes on with what was decided', async () => {
    const runId = await start('orderV2', order(1, 500))
    const key = `${runId}.approve`
    await until(
      async () => (await shop.get('/api/waits')).body.waits,
      (waits) => waits.some((wait: { runId: string }) => wait.runId === runId),
    )
    const page = await browser.open(`/waits?workspace=shop&open=${key}`)
    await page.getByLabel('Comment').fill('enough on stock')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('"comment": "enough on stock"', { exact: false }).waitFor()
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('The decision counts, and the run goes on.').waitFor()
    await page.getByLabel('Comment').waitFor({ state: 'detached' })
    await until(
      () => statusOf(runId),
      (status) => status === 'success',
    )

    await page.goto(`${world.server.url}/runs/${runId}?step=approve`)
    const decided = page.getByRole('group', { name: 'What was decided' })
    await decided.getByText('"enough on stock"').waitFor()
  })
})

describe('ten thousand runs', () => {
  const SEEDED = 10_000
  /** What the error of one run in a hundred says. */
  const ERROR = 'no space left on device'

  beforeAll(async () => {
    await sql`
      with run as (
        insert into pgflow.runs (flow_slug, status, input, started_at, completed_at, failed_at)
        select 'importV1', case when n % 100 = 0 then 'failed' else 'completed' end, '{"rows": 1}', at,
               case when n % 100 <> 0 then at + interval '2 s' end, case when n % 100 = 0 then at + interval '1 s' end
        from generate_series(1, ${SEEDED}) n, lateral (select now() - interval '1 day' + n * interval '1 s' as at) t
        returning run_id, flow_slug, status, started_at
      ), state as (
        insert into pgflow.step_states (flow_slug, run_id, step_slug, status, started_at, created_at, failed_at, initial_tasks, error_message)
        select flow_slug, run_id, 'fetch', 'failed', started_at, started_at, started_at + interval '1 s', 1, ${ERROR}
        from run where status = 'failed'
      )
      insert into starflow.queue_runs (run_id, workspace_id, env, flow_slug, started_at)
      select run_id, 'archive', 'prod', flow_slug, started_at from run`
  })

  const rows = (page: Page) => page.getByRole('table', { name: 'Runs' }).getByRole('row')

  test('are scrolled through, and only those that one sees are drawn', async () => {
    const page = await browser.open('/runs?workspace=archive')
    await rows(page).nth(1).waitFor()
    const drawn: number[] = []
    // As far as one gets with the wheel of a mouse in a while.
    while (!(await page.getByText(/^2,\d00\+ runs$/).isVisible())) {
      await page.evaluate(() => window.scrollTo({ top: document.documentElement.scrollHeight }))
      drawn.push(await rows(page).count())
    }
    expect(Math.max(...drawn)).toBeLessThan(120)
    // What one comes to is where it belongs: the row of each index, counted from the oldest.
    const seen = await rows(page).last().getAttribute('aria-rowindex')
    expect(Number(seen)).toBeGreaterThan(1_500)
  })

  test('are filtered by status and text, and the address holds the filter', async () => {
    const page = await browser.open('/runs?workspace=archive')
    await page.getByRole('button', { name: 'error', exact: true }).click()
    await page.keyboard.press('/')
    await page.keyboard.type('Left On')
    await page.waitForURL((url) => url.searchParams.get('q') === 'Left On')
    await page.getByText('100 runs', { exact: true }).waitFor()
    expect(await rows(page).nth(1).textContent()).toContain(ERROR)
    const address = page.url()
    expect(Object.fromEntries(new URL(address).searchParams)).toMatchObject({ status: 'error', q: 'Left On' })

    await page.goto(address)
    await page.getByText('100 runs', { exact: true }).waitFor()
    expect(await page.getByRole('searchbox').inputValue()).toBe('Left On')
    await page.getByRole('searchbox').fill('nothing like it')
    await page.getByText('No run fits these filters.').waitFor()
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    await page.getByText('200+ runs').waitFor()
  })

  test('stay where they are when newer ones come, which come on top when they are asked for', async () => {
    const archive = await world.server.workspace('archive')
    const page = await browser.open('/runs?workspace=archive')
    const first = await rows(page).nth(1).getAttribute('data-run')
    const { body } = await archive.post('/api/runs', { flow: 'importV1', input: { rows: 1 }, placement: 'queue' })
    const newer = page.getByRole('button', { name: '1 new run' })
    await newer.waitFor()
    expect(await rows(page).nth(1).getAttribute('data-run')).toBe(first)
    await newer.click()
    await expect.poll(() => rows(page).nth(1).getAttribute('data-run')).toBe(body.runId)
    // It shows its end where it stands.
    await rows(page).nth(1).getByText('success').waitFor()
  })

  test('are gone through and opened with the keys', async () => {
    const page = await browser.open('/runs?workspace=archive&status=error')
    await rows(page).nth(3).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('Shift+X')
    await page.getByText('2 selected').waitFor()
    const third = await rows(page).nth(3).getAttribute('data-run')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/runs/${third}*`)
  })
})

test('many runs are cancelled at once, and those that were refused are told with the reason, and stay selected', async () => {
  const runIds: string[] = []
  for (let index = 0; index < 3; index++) runIds.push(await start('reportV1', { month: `bulk-${index}` }, 'runner'))
  for (const runId of runIds)
    await until(
      () => statusOf(runId),
      (status) => status === 'paused',
    )
  const page = await browser.open('/runs?workspace=shop&flow=reportV1&status=paused')
  await page.getByText('3 runs', { exact: true }).waitFor()
  await page.getByLabel('Select all that are loaded').check()
  await page.getByRole('button', { name: 'Cancel 3' }).click()
  // One of them ends before the request is there.
  await shop.post(`/api/runs/${runIds[1]}/cancel`, {})
  await page.getByLabel('Reason').fill('not needed')
  await page.getByRole('button', { name: 'Cancel them' }).click()
  await page.getByText('2 of 3 runs cancelled. The other one stays selected.').waitFor()
  await page.getByText('Its status had changed meanwhile, and does not allow it.').waitFor()
  await page.getByRole('dialog').getByText('Close', { exact: true }).click()
  await page.getByText('1 selected').waitFor()
  expect(await Promise.all(runIds.map(statusOf))).toEqual(['cancelled', 'cancelled', 'cancelled'])
})

describe('what is hostile or large', () => {
  const HOSTILE = '<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script> \u202Egnp.exe'

  test('is shown as the text that it is, however deep it lies', async () => {
    const deep = JSON.parse(`${'['.repeat(250)}1${']'.repeat(250)}`) as Json
    const runId = await start('reportV1', { month: HOSTILE, [HOSTILE]: HOSTILE, deep }, 'runner')
    await until(
      () => statusOf(runId),
      (status) => status === 'paused',
    )
    await shop.post(`/api/runs/${runId}/cancel`, { reason: HOSTILE })
    const page = await browser.open(`/runs/${runId}?workspace=shop`)
    await page.getByText('<img src=x', { exact: false }).first().waitFor()
    await page
      .getByRole('group', { name: 'Input' })
      .getByText(/onerror=/)
      .first()
      .waitFor()
    const list = await browser.open(`/runs?workspace=shop&q=${encodeURIComponent(HOSTILE)}`)
    await list.getByText('No run fits these filters.').waitFor()
    for (const each of [page, list]) expect(await each.evaluate(() => 'wasRun' in window)).toBe(false)
  })

  test('is loaded when it is asked for, and drawn as far as one looks at it', async () => {
    const rows = Array.from({ length: 12_000 }, (_, index) => ({ index, text: 'x'.repeat(40) }))
    const runId = await start('reportV1', { month: '2026-12', rows }, 'runner')
    const page = await browser.open(`/runs/${runId}?workspace=shop`)
    await page
      .getByRole('button', { name: /^Load \d+ kB$/ })
      .first()
      .click()
    const tree = page.getByRole('group', { name: 'Input' })
    await tree.getByText('12,000 items').click()
    await tree.getByText('show 500 of 11,900 more').waitFor()
    expect(await tree.getByRole('listitem').count()).toBeLessThan(200)
  })
})

test('of a cancellation and a retry of the same runs at once, each is told what became of each run', async () => {
  const runIds: string[] = []
  for (let index = 0; index < 6; index++) {
    const runId = await start('reportV1', { month: `race-${index}` }, 'runner')
    await until(
      () => statusOf(runId),
      (status) => status === 'paused',
    )
    runIds.push(runId)
  }
  const answers = await Promise.all(
    ['cancel', 'retry', 'cancel', 'retry'].map((action) => shop.post(`/api/runs/${action}`, { runIds })),
  )
  const outcomes = answers.flatMap(
    ({ body }) => body.runs as { runId: string; outcome: string; error: string | null }[],
  )
  expect(outcomes.filter(({ outcome }) => outcome === 'failed' || outcome === 'not_found')).toEqual([])
  for (const runId of runIds) {
    const told = outcomes.filter((each) => each.runId === runId).map(({ outcome }) => outcome)
    const cancelled = told.filter((outcome) => outcome === 'cancelled').length
    const retried = told.filter((outcome) => outcome === 'retried').length
    // A run is cancelled once more than it is retried, or as often; and that is how it stands.
    expect([0, 1]).toContain(cancelled - retried)
    if (cancelled > retried) expect(await statusOf(runId)).toBe('cancelled')
    else expect(await statusOf(runId)).not.toBe('cancelled')
  }
})

describe('a page that is open', () => {
  test('asks for another token when its own is revoked', async () => {
    const { token, tokenId } = await world.server.token('shop')
    await browser.asStranger('/runs', async (page) => {
      await page.getByLabel('API token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Runs' }).waitFor()
      await world.server.revoke(tokenId)
      await page.getByLabel('API token').waitFor()
      expect(new URL(page.url()).searchParams.get('from')).toBe('/runs')
    })
  })

  test('outlives a restart of its server, and says meanwhile that it is not reached', async () => {
    const storage = await testStorage('sqlite')
    const first = await testServer(storage)
    const env = { STARFLOW_PORT: new URL(first.url).port }
    const context = await browser.signedInAt(first.url)
    const page = await context.newPage()
    await page.goto(`${first.url}/waits`)
    await page.getByText('live', { exact: true }).waitFor()
    await first.drain()
    await page.getByText('server not reached').waitFor()
    await page.getByText('Nothing waits for a decision.').waitFor()
    await testServer(storage, env)
    await page.getByText('live', { exact: true }).waitFor({ timeout: 60_000 })
    await context.close()
  })
})

describe('every page is accessible and fits its window, in light and dark, wide and narrow:', () => {
  let failed: string
  let mapped: string
  let paused: string

  beforeAll(async () => {
    world.isBankThere = false
    failed = await start('orderV2', order(3))
    await until(
      () => statusOf(failed),
      (status) => status === 'error',
    )
    world.isBankThere = true
    mapped = await start('orderV2', order(120))
    const retried = await start('importV1', { rows: 3 })
    paused = await start('reportV1', { month: '2026-11' }, 'runner')
    await until(
      () => statusOf(mapped),
      (status) => status === 'success',
    )
    await until(
      () => statusOf(retried),
      (status) => status === 'success',
    )
    await until(
      () => statusOf(paused),
      (status) => status === 'paused',
    )
  })

  test.each<[string, () => string, string]>([
    ['runs', () => '/runs?workspace=shop', 'success'],
    ['run', () => `/runs/${failed}?step=charge`, 'Why it failed'],
    ['run-of-a-map', () => `/runs/${mapped}?step=reserve&task=3`, '[3]'],
    ['run-that-waits', () => `/runs/${paused}?step=release`, 'Approve'],
    ['flows', () => '/flows', 'orderV2'],
    ['flow', () => '/flows/orderV2?workspace=shop', 'orderId'],
    ['waits', () => `/waits?workspace=shop&open=${paused}.release`, 'Approve'],
    ['waits-none', () => '/waits?workspace=nobody', 'Nothing waits for a decision.'],
  ])(
    '%s',
    async (name, path, text) => {
      const page = await browser.open(path())
      await page.getByText(text).locator('visible=true').first().waitFor()
      expect(await problemsOf(page, name)).toEqual([])
    },
    120_000,
  )
})

test('nothing went wrong in any page', () => {
  expect(browser.errors).toEqual([])
})
