import { StarflowError } from '@starflow/errors'
import { isMap, isScalar, LineCounter, type Node, type Pair, parseDocument } from 'yaml'
import type { z } from 'zod'
import { NAME_PATTERN } from '../workspace.ts'
import { type Declarations, declarationsSchema } from './declarations.ts'

/** Something that is wrong in a file, and where: lines and columns count from 1. */
export interface FileProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** A place in the file, by the keys that lead there. */
export type FilePath = readonly (string | number)[]

/** The text of starflow.yaml: what it declares, as far as that is valid, and what is wrong with it. */
export interface ReadDeclarations {
  /** Undefined where the problems say why. */
  readonly declarations: Declarations | undefined
  readonly problems: readonly FileProblem[]
  /** The problem at a place, for what only others can know. */
  problemAt(path: FilePath, message: string): FileProblem
}

/** Reads starflow.yaml: its YAML, and its shape. Never throws for what stands in it. */
export function readDeclarations(text: string): ReadDeclarations {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number, message: string): FileProblem => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1), message }
  }
  const problemAt = (path: FilePath, message: string) => at(offsetOf(document.contents, path), pathed(path, message))
  const refused = (problems: readonly FileProblem[]) => ({ declarations: undefined, problems, problemAt })

  const syntax = [...document.errors, ...document.warnings].map(({ pos, message }) => at(pos[0], `${message}.`))
  if (syntax.length > 0) return refused(syntax)
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 }) ?? {}
  } catch {
    return refused([at(0, 'It has too many aliases.')])
  }
  const result = declarationsSchema.safeParse(value)
  const issues = [...nameProblems(value), ...(result.error?.issues ?? []).flatMap(issueProblems)]
  if (issues.length === 0) return { declarations: result.data, problems: [], problemAt }
  return refused(inOrder(issues.map(({ path, message }) => problemAt(path, message))))
}

/** @returns SF920 with every problem */
export function invalidDeclarations(file: string, problems: readonly FileProblem[]): StarflowError {
  return new StarflowError({
    code: 'SF920',
    message: `${file} has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}.`,
    detail: problems.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`).join('\n'),
    hint: 'Correct the file, and look with: npx starflow config check',
    fields: { file, problems },
  })
}

export function inOrder(problems: readonly FileProblem[]): FileProblem[] {
  return [...problems].sort((left, right) => left.line - right.line || left.column - right.column)
}

/** A problem and the keys that lead to its place. */
export interface LocatedProblem {
  readonly path: FilePath
  readonly message: string
}

function nameProblems(file: unknown): LocatedProblem[] {
  const sections = Object.entries(file ?? {}).map(([section, entries]) => ({ path: [section], entries }))
  const alerts = (file as { alerts?: { webhooks?: unknown } | null } | null)?.alerts
  return [...sections, { path: ['alerts', 'webhooks'], entries: alerts?.webhooks }].flatMap(({ path, entries }) =>
    Object.keys(typeof entries === 'object' ? (entries ?? {}) : {})
      .filter((name) => !NAME_PATTERN.test(name))
      .map((name) => ({
        path: [...path, name],
        message: 'a name has letters, digits, dots, hyphens and underscores, 64 at most.',
      })),
  )
}

function issueProblems(issue: z.core.$ZodIssue): LocatedProblem[] {
  const path = issue.path as FilePath
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], message: 'is not known here.' }))
  }
  if (issue.code === 'invalid_union') return unionProblems(issue, path)
  if (issue.code === 'invalid_value') return [{ path, message: `must be one of ${issue.values.join(', ')}.` }]
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
    return [{ path, message: 'is missing.' }]
  }
  return [{ path, message: sentence(issue.message) }]
}

/** What the alternative that fits best would need. */
function unionProblems(issue: z.core.$ZodIssueInvalidUnion, path: FilePath): LocatedProblem[] {
  if ('options' in issue && issue.options !== undefined) {
    return [{ path, message: `must be one of ${issue.options.join(', ')}.` }]
  }
  const alternatives = issue.errors.filter((issues) => issues.length > 0)
  const closest = alternatives.toSorted((left, right) => left.length - right.length)[0] ?? []
  return closest.flatMap((each) => issueProblems({ ...each, path: [...path, ...each.path] } as z.core.$ZodIssue))
}

function sentence(message: string): string {
  const text = message.replace(/^Invalid input: expected/, 'must be').replace(/^Invalid input/, 'is not valid')
  return text.endsWith('.') ? text : `${text}.`
}

function pathed(path: FilePath, message: string): string {
  return path.length === 0 ? `It ${message}` : `${path.join('.')}: ${message}`
}

/** Where the node of a path stands, or the nearest one above that there is. Of an entry of a map: its key. */
function offsetOf(root: unknown, path: FilePath): number {
  let node = root as Node | null
  let offset = node?.range?.[0] ?? 0
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : String(key)) === String(part)) as
        | Pair<Node, Node | null>
        | undefined
      if (pair === undefined) return offset
      offset = pair.key.range?.[0] ?? offset
      node = pair.value
      continue
    }
    const item = (node as { items?: Node[] } | null)?.items?.[Number(part)]
    if (item === undefined) return offset
    offset = item.range?.[0] ?? offset
    node = item
  }
  return offset
}
