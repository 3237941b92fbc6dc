import { defineConfig } from 'vitest/config'
import { mutantPlugin } from './scripts/mutants/mutant-in-place.ts'

/** Far beyond what any test takes: a machine that is slow or busy fails none, and what waits for ever still ends. */
const common = {
  pool: 'forks',
  testTimeout: 240_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 60_000 } },
} as const
const withPostgres = { ...common, globalSetup: ['./tests/support/global-setup.ts'] }

/** Beside the source: what needs no Postgres. */
const UNIT = ['packages/*/src/**/*.test.ts', 'functions/**/*.test.ts', 'bench/src/**/*.test.ts']

/** Share a process, one file after the other: they keep nothing in modules, and to load those again costs more than the tests. */
const SHARING = ['core', 'engine', 'server', 'testing'].map((name) => `packages/${name}/tests/**/*.test.ts`)

export default defineConfig({
  plugins: [mutantPlugin],
  test: {
    maxWorkers: 4,
    projects: [
      { test: { ...common, name: 'unit', include: UNIT, isolate: false } },
      { test: { ...withPostgres, name: 'sharing', include: SHARING, isolate: false } },
      {
        test: {
          ...withPostgres,
          name: 'alone',
          include: ['packages/*/tests/**/*.test.ts', 'tests/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [...UNIT, ...SHARING, '**/node_modules/**'],
        },
      },
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
