import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Makes the pictures of the documentation: `npm run pictures`. Needs Chromium, which it installs if it may. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['e2e/pictures/*.ts'],
    globalSetup: ['./tests/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
  },
})
