import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test, vi } from 'vitest'
import { isAuthorised } from '../src/request-auth.ts'

// How long a comparison takes cannot be measured here. What can be seen is that no secret is compared as text, and that the
// same work is done whatever was presented.

const source = fileURLToPath(new URL('../src/', import.meta.url))
const AUTH = 'request-auth.ts'

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(file))
  .map((file) => ts.createSourceFile(file, readFileSync(source + file, 'utf8'), ts.ScriptTarget.Latest, true))

test('only request-auth.ts reads what a request presents', () => {
  const readers = files.filter((file) => found(file, isHeaderRead).length > 0).map((file) => file.fileName)
  expect(readers).toEqual([AUTH])
})

test('in it nothing is compared but with a constant, and bytes by a loop that does not end early', () => {
  const auth = files.find((file) => file.fileName === AUTH)!
  expect(found(auth, (node) => isComparison(node) && !hasConstant(node))).toEqual([])
  expect(found(auth, isSearch)).toEqual([])
  const sameBytes = /function sameBytes.*?\n}/s.exec(auth.text)![0]
  expect(sameBytes.match(/return|break|if \(|&&|\|\|/g)).toEqual(['return'])
})

test('nowhere is a secret compared as text', () => {
  const isOfSecret = (node: ts.Node) => /secret|api_?key|token|password/i.test(node.getText())
  const compared = files.flatMap((file) =>
    found(file, (node) => ((isComparison(node) && !hasConstant(node)) || isSearch(node)) && isOfSecret(node)),
  )
  expect(compared).toEqual([])
})

test('the same digests are made and compared, whichever of the secrets is presented, or none', async () => {
  const digest = vi.spyOn(crypto.subtle, 'digest')
  const work = async (presented: string) => {
    digest.mockClear()
    const request = new Request('http://localhost/worker', { headers: { apikey: presented } })
    const isRight = await isAuthorised(request, ['first', 'second'])
    return { isRight, digests: digest.mock.calls.length }
  }
  expect([await work('first'), await work('second'), await work('f'), await work('x'.repeat(5000))]).toEqual([
    { isRight: true, digests: 3 },
    { isRight: true, digests: 3 },
    { isRight: false, digests: 3 },
    { isRight: false, digests: 3 },
  ])
  digest.mockRestore()
})

/** The places of all nodes of a file that answer a question with yes. */
function found(file: ts.SourceFile, isWanted: (node: ts.Node) => boolean): string[] {
  const places: string[] = []
  const visit = (node: ts.Node): void => {
    if (isWanted(node)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart())
      places.push(`${file.fileName}:${line + 1} ${node.getText()}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return places
}

function isHeaderRead(node: ts.Node): boolean {
  return (
    ts.isCallExpression(node) &&
    /headers\.get$/.test(node.expression.getText()) &&
    /authorization|apikey/i.test(node.arguments[0]?.getText() ?? '')
  )
}

const COMPARISONS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
])

function isComparison(node: ts.Node): node is ts.BinaryExpression {
  return ts.isBinaryExpression(node) && COMPARISONS.has(node.operatorToken.kind)
}

function hasConstant(node: ts.BinaryExpression): boolean {
  return [node.left, node.right].some(
    (side) => ts.isLiteralExpression(side) || ['null', 'undefined'].includes(side.getText()),
  )
}

function isSearch(node: ts.Node): boolean {
  return (
    ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    ['includes', 'indexOf', 'startsWith', 'endsWith', 'localeCompare', 'has', 'equals'].includes(
      node.expression.name.text,
    ) &&
    node.arguments.some((argument) => !ts.isLiteralExpression(argument))
  )
}
