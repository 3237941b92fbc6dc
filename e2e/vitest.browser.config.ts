import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The tests in a browser: `npm run test:browser`. Needs Chromium, which it installs if it may. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['e2e/browser/**/*.test.ts'],
    globalSetup: ['./e2e/support/browser-setup.ts', './tests/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
