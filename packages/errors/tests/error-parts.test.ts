import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = new URL('../../..', import.meta.url).pathname

test('every refusal of SQL has all four parts', () => {
  const calls = filesIn('packages/core/schemas', /\.sql$/).flatMap(({ path, text }) =>
    [...text.matchAll(/perform pgflow\._raise\(/g)].map((call) => ({
      place: placeIn(path, text, call.index),
      parts: argumentsOf(text, call.index + call[0].length),
    })),
  )
  expect(calls.length).toBeGreaterThan(30)
  expect(calls.filter(({ parts }) => parts.length !== 4 || parts.includes("''"))).toEqual([])
})

test('every error that the packages throw has a detail and a hint', () => {
  const thrown = packageSources().flatMap(({ path, text }) =>
    errorsIn(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)),
  )
  expect(thrown.length).toBeGreaterThan(80)
  expect(thrown.filter(({ isWhole }) => !isWhole).map(({ place }) => place)).toEqual([])
})

interface SourceText {
  readonly path: string
  readonly text: string
}

function packageSources(): SourceText[] {
  return readdirSync(join(root, 'packages'))
    .flatMap((name) => filesIn(`packages/${name}/src`, /\.ts$/))
    .filter(({ path }) => !/\.test(-d)?\.ts$/.test(path))
}

function filesIn(folder: string, name: RegExp): SourceText[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => name.test(file))
    .map((file) => ({ path: `${folder}/${file}`, text: readFileSync(join(root, folder, file), 'utf8') }))
}

function placeIn(path: string, text: string, offset: number): string {
  return `${path}:${text.slice(0, offset).split('\n').length}`
}

/** The arguments of a call as SQL text, from behind its opening parenthesis. */
function argumentsOf(text: string, start: number): string[] {
  const found = ['']
  let depth = 0
  for (const [token] of text.slice(start).matchAll(/'(?:[^']|'')*'|[^']/g)) {
    if (token === ')' && depth === 0) break
    if (token === '(') depth++
    if (token === ')') depth--
    if (token === ',' && depth === 0) found.push('')
    else found[found.length - 1] += token
  }
  return found.map((argument) => argument.trim())
}

/**
 * The errors that a file makes: object literals with a code and a message. A spread may bring the other parts, which the types
 * check; an empty text is none.
 */
function errorsIn(source: ts.SourceFile): { place: string; isWhole: boolean }[] {
  const found: { place: string; isWhole: boolean }[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node) && isErrorParts(node)) {
      const isSpread = node.properties.some(ts.isSpreadAssignment)
      found.push({
        place: placeIn(source.fileName, source.text, node.getStart()),
        isWhole: isSpread || (hasText(node, 'detail') && hasText(node, 'hint')),
      })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function isErrorParts(node: ts.ObjectLiteralExpression): boolean {
  const code = partOf(node, 'code')
  const isCode = code !== undefined && ts.isPropertyAssignment(code) && /^'SF\d{3}'$/.test(code.initializer.getText())
  // A log line has a level, and what is kept of a failure has a name: neither is thrown.
  const isThrown = partOf(node, 'level') === undefined && partOf(node, 'name') === undefined
  return isCode && isThrown && partOf(node, 'message') !== undefined
}

function hasText(node: ts.ObjectLiteralExpression, name: string): boolean {
  const part = partOf(node, name)
  return part !== undefined && !(ts.isPropertyAssignment(part) && part.initializer.getText() === "''")
}

function partOf(node: ts.ObjectLiteralExpression, name: string): ts.ObjectLiteralElementLike | undefined {
  return node.properties.find((property) => property.name?.getText() === name)
}
