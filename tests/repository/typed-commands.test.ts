import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/repository.ts'

/** The first words after `starflow`, as the reference has them, which is made of the program itself. */
const WORDS = new Set(
  Array.from(read('docs/reference/cli.md').matchAll(/^## starflow ([a-z-]+)/gm), ([, word]) => word!),
)
/** A command that is to be typed. One that is only named stands in quotes: "starflow dev" runs already. */
const PLAIN = new RegExp(String.raw`(?<!npx |["\`])starflow (?:${[...WORDS].join('|')})(?![\w-])`, 'g')

const sources = filesBelow('packages', /\/src\/.*\.tsx?$/).filter((file) => !/\.test(-d)?\.ts/.test(file))
const schemas = filesBelow('packages/core/schemas', /\.sql$/)
const pages = [...filesBelow('docs', /\.md$/), 'README.md']

test('every command that a text of the program tells to type begins with npx', () => {
  expect(WORDS).toContain('rollout')
  const texts = sources.flatMap((file) => textsOf(file).map((text) => ({ file, text })))
  expect(texts.filter(({ text }) => text.includes('npx starflow')).length).toBeGreaterThan(20)
  expect(texts.filter(({ text }) => text.match(PLAIN))).toEqual([])
})

test('every command that SQL tells to type begins with npx', () => {
  const texts = schemas.map((file) => ({ file, text: read(file).replace(/^\s*--.*$/gm, '') }))
  expect(texts.flatMap(({ file, text }) => Array.from(text.match(PLAIN) ?? [], (found) => ({ file, found })))).toEqual(
    [],
  )
})

test('every command in a shell block of the docs begins with npx', () => {
  // The reference of the commands shows their usage as `--help` prints it.
  const blocks = pages
    .filter((file) => file !== 'docs/reference/cli.md')
    .flatMap((file) => Array.from(read(file).matchAll(/^```sh\n(.*?)^```/gms), ([, text]) => ({ file, text: text! })))
  expect(blocks.length).toBeGreaterThan(20)
  expect(blocks.filter(({ text }) => text.match(PLAIN))).toEqual([])
})

test('every command that a page tells to type is one, with options that it has', () => {
  const typed = pages
    .filter((file) => file !== 'docs/reference/cli.md')
    .flatMap((file) =>
      Array.from(read(file).matchAll(/npx starflow ([a-z][^`|\n]*)/g), ([, text]) => ({ file, text: text! })),
    )
  expect(typed.length).toBeGreaterThan(50)
  expect(typed.filter(({ text }) => unknownParts(text).length > 0)).toEqual([])
})

/** Options by command, as the reference has them. */
const COMMANDS = new Map<string, readonly string[]>(
  read('docs/reference/cli.md')
    .split(/^## starflow /m)
    .slice(1)
    .map((section) => [section.split('\n')[0]!, section.match(/--[a-z][a-z-]*/g) ?? []] as const),
)

function unknownParts(command: string): readonly string[] {
  const [first = '', second = ''] = command.split(/[ ,.;:)]+/)
  const name = [`${first} ${second}`, first].find((each) => COMMANDS.has(each))
  if (name === undefined) return Array.from(COMMANDS.keys()).some((each) => each.startsWith(`${first} `)) ? [] : [first]
  const options = command.replace(/'[^']*'|"[^"]*"/g, '').match(/(?<= )--[a-z][a-z-]*/g) ?? []
  return options.filter((option) => option !== '--help' && !COMMANDS.get(name)!.includes(option))
}

/** The text of each string and template. A string that is nothing but a command names it. */
function textsOf(file: string): string[] {
  const source = read(file)
  if (!source.includes('starflow ')) return []
  const texts: string[] = []
  const visit = (node: ts.Node): void => {
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) ||
      ts.isTemplateTail(node)
    ) {
      if (!/^starflow [a-z-]*$/.test(node.text)) texts.push(node.text)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, false))
  return texts
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((file) => pattern.test(file) && !file.includes('/node_modules/'))
}
