import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The worker's tests through a transaction pooler: `npm run test:pooler`. Needs pgbouncer, which it installs if it may. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['packages/edge-worker/tests/**/*.test.ts', 'e2e/pooler/**/*.test.ts'],
    exclude: [
      // No database, one of its own, or nothing that a pooler could change.
      ...['type-messages', 'postgres-outage', 'secret-comparison', 'start-errors', 'blocked-thread', 'instances'].map(
        (name) => `packages/edge-worker/tests/${name}.test.ts`,
      ),
      // Of roles with few connections: the pooler signs in for all of them by itself.
      ...['many-queues', 'platform-failures'].map((name) => `packages/edge-worker/tests/${name}.test.ts`),
    ],
    globalSetup: ['./e2e/support/pooler-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
