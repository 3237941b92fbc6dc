import { MAX_JSON_DEPTH } from '../numbers.ts'

/** Postgres has no NUL in its texts, and none of the stores half of a surrogate pair. */
const UNSTORABLE = /[\0\p{Surrogate}]/u
const BAD_TEXT = 'has text that cannot be kept: a NUL, or half of a surrogate pair'

/** Why what a request carries cannot be kept anywhere; undefined when it can. */
export function unstorableProblem(value: unknown): string | undefined {
  const found = findUnstorable(value)
  if (found === undefined) return undefined
  return found.path === '' ? `It ${found.problem}.` : `${found.path}: it ${found.problem}.`
}

/** What of a value cannot be kept anywhere, and where it is, by keys with dots between; undefined when all can. */
export function findUnstorable(value: unknown): { readonly path: string; readonly problem: string } | undefined {
  if (isNestedTooDeeply(value)) return { path: '', problem: `is nested more than ${MAX_JSON_DEPTH} levels deep` }
  for (const { found, path } of nodesOf(value)) {
    const text =
      typeof found === 'string' ? found : typeof found === 'object' ? Object.keys(found ?? {}).join('\n') : ''
    if (UNSTORABLE.test(text)) return { path, problem: BAD_TEXT }
  }
  return undefined
}

/** Asked before anything walks through a value by recursion. */
export function isNestedTooDeeply(value: unknown): boolean {
  for (const { depth } of nodesOf(value)) if (depth > MAX_JSON_DEPTH) return true
  return false
}

interface JsonNode {
  readonly found: unknown
  readonly path: string
  readonly depth: number
}

/** Everything in a value, without recursion. */
function* nodesOf(value: unknown): Generator<JsonNode> {
  const open: JsonNode[] = [{ found: value, path: '', depth: 0 }]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node
    const { found, path, depth } = node
    if (typeof found !== 'object' || found === null) continue
    for (const [key, inner] of Object.entries(found)) {
      open.push({ found: inner, path: path === '' ? key : `${path}.${key}`, depth: depth + 1 })
    }
  }
}
