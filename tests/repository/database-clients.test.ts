import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/repository.ts'

/** Where a driver is opened: for Starflow's own calls, and for handlers. The local platform stands for servers of others. */
const OPENING = [
  'core/src/database/column-types.ts',
  'core/src/database/database.ts',
  'edge-worker/src/worker-connections.ts',
]

/** What the drivers keep to themselves and was once overwritten. */
const PRIVATE = /typeArrayMap|onexecute|onclose = |\.connection\.stream|_queryQueue|_activeQuery/

test('a database is opened by the client with limits, and for handlers by the one that is replaced', () => {
  const packages = join(ROOT, 'packages')
  const sources = readdirSync(packages, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^(?!local\/)[^/]+\/src\/(?!.*\.test(-d)?\.ts$).*\.ts$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(packages, path), 'utf8') }))
  const opening = sources.filter(({ text }) => /^import (?!type\b)[^\n]* from '(postgres|pg)'/m.test(text))
  expect(sources.length).toBeGreaterThan(100)
  expect(opening.map(({ path }) => path).sort()).toEqual(OPENING)
  expect(sources.filter(({ text }) => PRIVATE.test(text)).map(({ path }) => path)).toEqual([])
})
