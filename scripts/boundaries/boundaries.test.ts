import { describe, expect, test } from 'vitest'
import { describeViolation, findViolations, type Manifest } from './boundaries.ts'

const dsl: Manifest = { name: '@starflow/dsl', dependencies: { '@starflow/errors': '0.0.0' } }
const engine: Manifest = { name: '@starflow/engine', dependencies: { '@starflow/dsl': '0.0.0', postgres: '3.4.9' } }

function violationsOf(path: string, source: string, manifests: Record<string, Manifest> = { dsl, engine }) {
  return findViolations([{ path, source }], manifests)
}

describe('directions between packages', () => {
  test('an allowed import is no violation', () => {
    expect(violationsOf('packages/dsl/src/flow.ts', "import { StarflowError } from '@starflow/errors'")).toEqual([])
  })

  test('a forbidden import names file, line, import and rule', () => {
    const [violation] = violationsOf('packages/dsl/src/flow.ts', "\nimport { StarflowSql } from '@starflow/core'")
    expect(violation && describeViolation(violation)).toBe(
      'packages/dsl/src/flow.ts:2\n  imports @starflow/core\n  rule: dsl may import only errors',
    )
  })

  test.each([
    ['a re-export', "export * from '@starflow/core'"],
    ['a dynamic import', "const core = await import('@starflow/core')"],
    ['an import type', "type Core = import('@starflow/core').StarflowSql"],
    ['a subpath', "import { migrations } from '@starflow/core/migrations'"],
    ['a path into another package', "import { x } from '../../core/src/index.ts'"],
  ])('%s of a forbidden package is a violation', (_kind, source) => {
    expect(violationsOf('packages/dsl/src/flow.ts', source)).toHaveLength(1)
  })

  test('the word import in a comment or a string is no import', () => {
    const source = "// import '@starflow/core'\nexport const text = \"import '@starflow/core'\""
    expect(violationsOf('packages/dsl/src/flow.ts', source)).toEqual([])
  })

  test('tests may import any package', () => {
    expect(violationsOf('packages/dsl/src/flow.test.ts', "import '@starflow/core'")).toEqual([])
    expect(violationsOf('packages/dsl/tests/flow.test.ts', "import '@starflow/local'")).toEqual([])
  })

  test('nothing imports cli', () => {
    expect(violationsOf('packages/local/src/x.ts', "import '@starflow/cli'")).toHaveLength(1)
    expect(violationsOf('functions/orders/index.ts', "import '@starflow/cli'")).toHaveLength(1)
  })

  test('a package of which only types may be imported refuses values', () => {
    expect(violationsOf('packages/client/src/a.ts', "import type { Flow } from '@starflow/dsl'")).toEqual([])
    expect(violationsOf('packages/client/src/a.ts', "import { Flow } from '@starflow/dsl'")).toHaveLength(1)
  })

  test('only the adapters of the engine import a database driver', () => {
    const source = "import postgres from 'postgres'"
    expect(violationsOf('packages/engine/src/adapters/supabase.ts', source)).toEqual([])
    expect(violationsOf('packages/engine/src/engine.ts', source)[0]?.rule).toContain('only src/adapters/')
  })

  test('an import that package.json does not list is a violation', () => {
    expect(violationsOf('packages/dsl/src/flow.ts', "import { z } from 'zod'")[0]?.rule).toContain('package.json lists')
    expect(violationsOf('packages/dsl/src/flow.ts', "import { join } from 'node:path'")).toEqual([])
  })

  test('an import of types is declared by their @types package', () => {
    const manifest = { ...dsl, devDependencies: { '@types/mdast': '4.0.4' } }
    const violations = (source: string) => violationsOf('packages/dsl/src/a.ts', source, { dsl: manifest })
    expect(violations("import type { Root } from 'mdast'")).toEqual([])
    expect(violations("import { Root } from 'mdast'")).toHaveLength(1)
  })

  test('cli may take types, and only types, from functions', () => {
    const path = 'packages/cli/src/demo/a.ts'
    expect(violationsOf(path, "import type { X } from '../../../../functions/_flows/x.ts'")).toEqual([])
    expect(violationsOf(path, "import { x } from '../../../../functions/_flows/x.ts'")).toHaveLength(1)
  })

  test('a forbidden dependency in package.json is a violation even when nothing imports it', () => {
    const manifest = { ...dsl, dependencies: { '@starflow/core': '0.0.0' } }
    expect(findViolations([], { dsl: manifest })).toEqual([
      { where: 'packages/dsl/package.json', specifier: '@starflow/core', rule: 'dsl may import only errors' },
    ])
  })

  test('a package that has no room is a violation', () => {
    expect(violationsOf('packages/stranger/src/index.ts', '')[0]?.where).toBe('packages/stranger')
  })
})
