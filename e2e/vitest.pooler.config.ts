import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The worker's tests through a transaction pooler: `npm run test:pooler`. Needs pgbouncer, which it installs if it may. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['packages/edge-worker/tests/**/*.test.ts', 'e2e/pooler/**/*.test.ts'],
    exclude: [
      // No database, or one of its own.
      'packages/edge-worker/tests/type-messages.test.ts',
      'packages/edge-worker/tests/postgres-outage.test.ts',
    ],
    globalSetup: ['./e2e/support/pooler-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
