import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startChromium } from '../support/chromium.ts'
import { dashboardWorld } from '../support/dashboard-world.ts'

const world = await dashboardWorld()
const { server, operatorToken } = world
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let browser: Browser
let workers: Awaited<ReturnType<typeof world.startWorkers>>

beforeAll(async () => {
  browser = await startChromium()
  workers = await world.startWorkers()
}, 60_000)
afterAll(() => browser?.close())

async function withPage(path: string, token: string | undefined, work: (page: Page) => Promise<void>): Promise<void> {
  const context: BrowserContext = await browser.newContext({ reducedMotion: 'reduce' })
  try {
    if (token !== undefined) await context.request.post(`${server.url}/api/session`, { data: { token } })
    const page = await context.newPage()
    await page.goto(`${server.url}${path}`)
    await work(page)
  } finally {
    await context.close()
  }
}

describe('whoever is not signed in', () => {
  test('is asked for a token, told that a wrong one is wrong, and led back to where they were going', async () => {
    await withPage('/queues?q=order', undefined, async (page) => {
      await page.getByLabel('API token').fill('not-the-token')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('This token is not good here.').waitFor()
      await page.getByLabel('API token').fill(operatorToken)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Queues' }).waitFor()
      expect(new URL(page.url()).search).toBe('?q=order')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('API token').waitFor()
      await page.goto(`${server.url}/queues`)
      await page.getByLabel('API token').waitFor()
    })
  })

  test('is signed in by a link, once', async () => {
    const link = new URL(server.signInLink()!)
    const path = `${link.pathname}${link.hash}`
    await withPage(path, undefined, (page) => page.getByRole('heading', { name: 'Overview' }).waitFor())
    await withPage(path, undefined, (page) => page.getByText('This link is no longer good.').waitFor())
  })
})

test('a theme that was chosen outlives the page', async () => {
  await withPage('/queues', operatorToken, async (page) => {
    await page.getByRole('button', { name: 'Theme: as the system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
    expect(await theme()).toBe('dark')
    await page.reload()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    expect(await theme()).toBe('dark')
  })
})

test('the keyboard leads past the navigation, to the search, and out of a dialog', async () => {
  await withPage('/queues', operatorToken, async (page) => {
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
})

test('a function is fenced and restored, after asking', async () => {
  await withPage('/queues?q=wrap', operatorToken, async (page) => {
    const isEnabled = async () =>
      (await world.database.sql`select enabled from pgflow.worker_functions where function_name = 'orderv2__wrap'`)[0]
        ?.enabled
    await page.getByRole('button', { name: 'Fence orderv2__wrap' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Fence', exact: true }).click()
    await page.getByRole('button', { name: 'Restore orderv2__wrap' }).waitFor()
    expect(await isEnabled()).toBe(false)
    await page.getByRole('button', { name: 'Restore orderv2__wrap' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByRole('button', { name: 'Fence orderv2__wrap' }).waitFor()
    expect(await isEnabled()).toBe(true)
  })
})

test('a worker that ends leaves a gap in the coverage, which closes when it is back', async () => {
  await withPage('/queues?q=confirm', operatorToken, async (page) => {
    await page.getByText('covered', { exact: true }).waitFor()
    await workers.get('orderv2__confirm')!.stop()
    await page.getByText('idle, no worker').waitFor()
    await world.startWorker('orderv2__confirm')
    await page.getByText('covered', { exact: true }).waitFor()
  })
})

test.each(['/', '/queues', '/queues/orderv2__charge', '/workers', '/runners'])(
  '%s is accessible in light and dark, wide, middling and narrow',
  async (path) => {
    await withPage(path, operatorToken, async (page) => {
      await page.getByRole('heading', { level: 2 }).or(page.getByRole('table')).first().waitFor()
      await page.evaluate(axe)
      const problems: string[] = []
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        for (const width of [1440, 768, 380]) {
          await page.setViewportSize({ width, height: 900 })
          const found = await page.evaluate(async () => {
            const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } }
            const { violations } = await axe.run()
            const { scrollWidth, clientWidth } = document.documentElement
            return [
              ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`),
              ...(scrollWidth > clientWidth ? [`wider than its window by ${scrollWidth - clientWidth}`] : []),
            ]
          })
          problems.push(...found.map((problem) => `at ${width} in ${colorScheme}: ${problem}`))
        }
      }
      expect(problems).toEqual([])
    })
  },
)

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}
