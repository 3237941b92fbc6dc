/**
 * Type-checks in Deno what also runs there: the packages that functions import, and every function. With the Deno of the
 * npm package only: Deno 2.1 runs these files too but refuses to check `.ts` exports of packages.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { resolveDenoBinary } from '@starflow/local'
import { ROOT } from './repository.ts'

const PACKAGES = ['errors', 'tracing', 'dsl', 'core', 'edge-worker']

const entries = [
  ...PACKAGES.map((name) => `packages/${name}/src/index.ts`),
  ...functionEntries(),
  ...flowModules(),
].filter((path) => existsSync(join(ROOT, path)))
const { status } = spawnSync(resolveDenoBinary(), ['check', '--quiet', '--node-modules-dir=manual', ...entries], {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, DENO_NO_UPDATE_CHECK: '1' },
})
if (status === 0) console.log(`${entries.length} modules type-check in Deno.`)
process.exitCode = status ?? 1

function functionEntries(): string[] {
  return readdirSync(join(ROOT, 'functions')).map((name) => `functions/${name}/index.ts`)
}

function flowModules(): string[] {
  return readdirSync(join(ROOT, 'functions/_flows'))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `functions/_flows/${name}`)
}
