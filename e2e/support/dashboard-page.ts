import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import { startChromium } from './chromium.ts'
import type { DashboardWorld } from './dashboard-world.ts'

/** Where screenshots are left for people. */
const SCREENSHOTS = process.env.STARFLOW_SCREENSHOTS || join(tmpdir(), 'starflow-screenshots')
const WIDTHS = [1440, 768, 380] as const
const SCHEMES = ['light', 'dark'] as const

/** A browser that is signed in to the dashboard as the operator; it ends with the file's tests. */
export class DashboardBrowser {
  readonly #world: DashboardWorld
  #browser: Promise<Browser> | undefined
  #context: Promise<BrowserContext> | undefined
  /** What went wrong in any page. */
  readonly errors: string[] = []

  constructor(world: DashboardWorld) {
    this.#world = world
    afterAll(async () => (await this.#browser)?.close())
  }

  /** A page at a path of the dashboard, once its heading is there. */
  async open(path: string): Promise<Page> {
    const page = await this.blank(path)
    page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(`${path}: ${message.text()} ${message.location().url}`)
    })
    await page.goto(this.urlOf(path))
    await page.getByRole('heading', { level: 1 }).waitFor()
    return page
  }

  /** A page that is nowhere yet, for whoever arranges what answers it, and goes to `urlOf(path)` then. */
  async blank(path: string): Promise<Page> {
    this.#context ??= this.signedInAt(this.#world.server.url)
    const page = await (await this.#context).newPage()
    await page.setViewportSize({ width: WIDTHS[0], height: 900 })
    page.on('pageerror', (error) => this.errors.push(`${path}: ${error}`))
    return page
  }

  urlOf(path: string): string {
    return `${this.#world.server.url}${path}`
  }

  /** A page of somebody who is not signed in, at a path; it ends with the work. */
  async asStranger(path: string, work: (page: Page) => Promise<void>): Promise<void> {
    this.#browser ??= startChromium()
    const context = await (await this.#browser).newContext({ reducedMotion: 'reduce' })
    try {
      const page = await context.newPage()
      await page.goto(this.urlOf(path))
      await work(page)
    } finally {
      await context.close()
    }
  }

  /** Done after each test, so that no page goes on asking. */
  async closePages(): Promise<void> {
    const pages = (await this.#context)?.pages() ?? []
    await Promise.all(pages.map((page) => page.close()))
  }

  /** A context in which the operator is signed in at any server of a test. */
  async signedInAt(url: string): Promise<BrowserContext> {
    this.#browser ??= startChromium()
    const context = await (await this.#browser).newContext({ reducedMotion: 'reduce' })
    context.setDefaultTimeout(30_000)
    const response = await context.request.post(`${url}/api/session`, { data: { token: this.#world.operatorToken } })
    expect(response.status()).toBe(200)
    return context
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * What axe-core finds against a page, in light and dark, wide, middling and narrow, in one load of it; and whether it is wider than
 * its window. Leaves a screenshot of each.
 *
 * @param options.widths of a state of a page that is examined elsewhere: fewer, as each takes a second
 */
export async function problemsOf(
  page: Page,
  name: string,
  { widths = WIDTHS }: { readonly widths?: readonly number[] } = {},
): Promise<string[]> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  const problems: string[] = []
  // Not a script of the page, which its policy would refuse.
  await page.evaluate(axe)
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}-${colorScheme}.png`), fullPage: true })
      const found = await page.evaluate(async () => {
        const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } }
        const { violations } = await axe.run()
        const { scrollWidth, clientWidth } = document.documentElement
        return [
          ...violations.map(({ id, nodes }) => `${id}: ${nodes.length} times, as in ${nodes[0]?.html.slice(0, 200)}`),
          ...(scrollWidth > clientWidth ? [`wider than its window by ${scrollWidth - clientWidth}`] : []),
        ]
      })
      problems.push(...found.map((problem) => `${name} at ${width} in ${colorScheme}: ${problem}`))
    }
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: 'reduce' })
  await page.setViewportSize({ width: WIDTHS[0], height: 900 })
  return problems
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}
