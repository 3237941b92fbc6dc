import { defineConfig } from 'vitest/config'

const common = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000 } as const

/** Share a process, one file after the other: they keep nothing in modules, and to load those again costs more than the tests. */
const SHARING = [
  'packages/*/src/**/*.test.ts',
  'packages/core/tests/**/*.test.ts',
  'functions/**/*.test.ts',
  'bench/src/**/*.test.ts',
]

export default defineConfig({
  test: {
    globalSetup: ['./tests/support/global-setup.ts'],
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...common,
          name: 'alone',
          include: ['packages/*/tests/**/*.test.ts', 'tests/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [...SHARING, '**/node_modules/**'],
        },
      },
      { test: { ...common, name: 'sharing', include: SHARING, isolate: false } },
      {
        test: {
          name: 'types',
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ['packages/*/src/**/*.test-d.ts'],
            tsconfig: './tsconfig.typetest.json',
          },
        },
      },
    ],
  },
})
