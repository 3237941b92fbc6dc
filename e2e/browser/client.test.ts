import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clientChecks } from '../../packages/client/tests/checks/client-checks.ts'
import { clientPlatform } from '../../packages/client/tests/support/client-platform.ts'
import { ROOT } from '../../scripts/repository.ts'
import { bundleForBrowser } from '../support/bundle.ts'
import { startChromium } from '../support/chromium.ts'

const { facts, backstage } = await clientPlatform()
let browser: Browser
const contexts: BrowserContext[] = []

beforeAll(async () => {
  browser = await startChromium()
})
afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()))
})
afterAll(() => browser?.close())

/** An empty page of the project's origin, which is one that browsers take for secure; with what went wrong in it. */
async function openPage(
  prepare: (page: Page) => Promise<void> = async () => {},
): Promise<{ page: Page; errors: string[] }> {
  const context = await browser.newContext()
  contexts.push(context)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  await prepare(page)
  await page.goto(`${facts.url}/health`)
  return { page, errors }
}

describe('with the real supabase-js, in Chromium,', async () => {
  const script = await bundleForBrowser(join(ROOT, 'e2e/browser/checks-in-browser.ts'))

  test.each(clientChecks)('$title', async ({ title }) => {
    const { page, errors } = await openPage()
    await page.addScriptTag({ content: script })
    const problem = await page.evaluate(
      ([name, where]) =>
        (globalThis as unknown as { runCheck(title: string, facts: unknown): unknown }).runCheck(name, where),
      [title, facts] as const,
    )
    expect(problem).toBeNull()
    expect(errors).toEqual([])
  })
})

describe('the page of the guide', () => {
  const [html, script] = ['html', 'ts'].map((language) => codeOf('docs/guides/client.md', language))

  let folder: string
  const page = () => join(folder, 'app/page.ts')

  /** The guide's script beside the flow of the README, where its import looks for it. */
  beforeAll(() => {
    mkdirSync(join(ROOT, '.starflow'), { recursive: true })
    folder = mkdtempSync(join(ROOT, '.starflow/guide-'))
    mkdirSync(join(folder, 'app'))
    mkdirSync(join(folder, 'functions/_flows'), { recursive: true })
    writeFileSync(page(), script as string)
    writeFileSync(join(folder, 'functions/_flows/support-threads.ts'), codeOf('README.md', 'ts'))
    const config = {
      extends: '../../tsconfig.base.json',
      compilerOptions: { types: ['vite/client'] },
      include: ['app'],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const bundleOfGuide = () =>
    bundleForBrowser(page(), {
      'import.meta.env.VITE_SUPABASE_URL': facts.url,
      'import.meta.env.VITE_SUPABASE_KEY': facts.publishableKey,
    })

  test('compiles against the flow of the README, and not with a slug, a step or an input that it does not have', () => {
    const compile = () => spawnSync('npx', ['tsc', '--noEmit', '-p', folder], { cwd: ROOT, encoding: 'utf8' }).stdout
    expect(compile()).toBe('')
    const wrong = [
      "starflow.startFlow('supportThreadsV2', { id: '', title: '' })",
      "starflow.startFlow('supportThreadsV1', { id: '' })",
      "starflow.getRun('', 'supportThreadsV1').then((run) => run?.step('clasify'))",
    ]
    writeFileSync(page(), [script, ...wrong].join('\n'))
    const errors = compile()
    writeFileSync(page(), script as string)
    expect(errors.match(/^\S+: error/gm)).toHaveLength(wrong.length)
  })

  test('starts a run of whoever is signed in and shows it to its end', async () => {
    await backstage.compile('supportThreadsV1', {
      classify: {},
      announce: { after: ['classify'], if: { classify: { route: 'help' } } },
    })
    const userId = randomUUID()
    const session = {
      access_token: await backstage.token(userId, 3600),
      refresh_token: 'none',
      token_type: 'bearer',
      expires_in: 3600,
      expires_at: Math.floor(Date.now() / 1000) + 3600,
      user: { id: userId, aud: 'authenticated', role: 'authenticated' },
    }
    const { page: opened, errors } = await openPage(async (page) => {
      await page.addInitScript((text) => localStorage.setItem('sb-127-auth-token', text), JSON.stringify(session))
    })
    await opened.setContent(html as string)
    await opened.addScriptTag({ content: await bundleOfGuide() })

    await opened.getByRole('button', { name: 'Ask' }).click()
    await expect
      .poll(() => backstage.work('supportThreadsV1', 'classify', { output: { route: 'help' } }), { timeout: 60_000 })
      .toBe(1)
    await opened.getByText('classify completed').waitFor()
    await backstage.work('supportThreadsV1', 'announce', { output: { delivered: true } })
    await opened.getByText('The team has been told.').waitFor()
    expect(await opened.locator('#progress li').last().textContent()).toBe('run:completed')
    expect(await backstage.sql(`select owner from pgflow.runs where flow_slug = 'supportThreadsV1'`)).toEqual([
      { owner: userId },
    ])
    expect(errors).toEqual([])
  })

  test('tells who is not signed in what is missing', async () => {
    const { page: opened } = await openPage()
    await opened.setContent(html as string)
    await opened.addScriptTag({ content: await bundleOfGuide() })
    const failure = opened.waitForEvent('pageerror')
    await opened.getByRole('button', { name: 'Ask' }).click()
    expect(String(await failure)).toContain('The request "start_flow_with_states" failed.')
  })
})

/** The first block of a language in a document. */
function codeOf(document: string, language: string): string {
  const code = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(
    readFileSync(join(ROOT, document), 'utf8'),
  )?.[1]
  if (code === undefined) throw new Error(`${document} has no ${language}`)
  return code
}
