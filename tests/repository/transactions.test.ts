import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/repository.ts'

/** The guard, and a caller whose client has it built in. */
const GUARDED = ['core/src/held-connection.ts', 'edge-worker/src/transactional-step.ts']

test('no transaction is begun but through the guard against lost connections', () => {
  const packages = join(ROOT, 'packages')
  const sources = readdirSync(packages, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^[^/]+\/src\/(?!.*\.test\.ts$).*\.ts$/.test(path),
  )
  const beginning = sources.filter((path) =>
    /\b(sql|client)\.(begin|reserve)\(/.test(readFileSync(join(packages, path), 'utf8')),
  )
  expect(sources.length).toBeGreaterThan(100)
  expect(beginning.sort()).toEqual(GUARDED)
})
