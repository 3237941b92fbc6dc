import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = new URL('../../..', import.meta.url)
const page = readFileSync(new URL('docs/reference/state-adapter.md', root), 'utf8')
const port = readFileSync(new URL('packages/engine/src/state-adapter.ts', root), 'utf8')

/** The interfaces that together are the port, in whose methods an adapter consists. */
const PARTS = [
  'WorkflowStateAdapter',
  'RunJournal',
  'RunQueue',
  'WaitStore',
  'SessionStore',
  'RunReads',
  'WorkerJobStore',
]

test('every method of the port has a row in the reference, with the arguments that it takes', () => {
  const rows = [...page.matchAll(/^\| `(\w+\(.*?\))` \| .+ \| .+ \|$/gm)].map(([, method]) => method)
  expect(rows.toSorted()).toEqual(methods().toSorted())
})

function methods(): string[] {
  const source = ts.createSourceFile('state-adapter.ts', port, ts.ScriptTarget.Latest, true)
  const parts = source.statements.filter(ts.isInterfaceDeclaration).filter(({ name }) => PARTS.includes(name.text))
  expect(parts).toHaveLength(PARTS.length)
  return parts.flatMap(({ members }) =>
    members.filter(ts.isMethodSignature).map(({ name, parameters }) => {
      const given = parameters.map((each) => `${each.name.getText()}${each.questionToken === undefined ? '' : '?'}`)
      return `${name.getText()}(${given.join(', ')})`
    }),
  )
}
