import { beforeAll, expect, test } from 'vitest'
import { completionsAt, errorsOf } from './support/editor-service.ts'

const FLOW = `
const flow = new Flow<{ url: string }>({ slug: 'threads' })
  .step({ slug: 'classify' }, () => 1)
  .step({ slug: 'deliver' }, () => 2)
const queued = withStepQueues(flow)
`

// The first look reads all sources and the libraries.
beforeAll(() => void errorsOf(FLOW), 600_000)

test('an editor completes stepSlug with the steps of the flow', () => {
  expect(completionsAt(`${FLOW} EdgeWorker.start(queued, { stepSlug: '`)).toEqual(['classify', 'deliver'])
})

test.each([
  ['({ url }) => fetch(url)', 'JSON would lose a Response or Request: return what its json() or text() resolves to'],
  ['async () => ({ found: new Map([[1, 2]]) })', 'JSON would lose a Map: return Object.fromEntries(map)'],
  ['() => [{ seen: new Set([1]) }]', 'JSON would lose a Set: return [...set]'],
  ['() => ({ id: 10n })', 'JSON has no bigint: return String(value)'],
  ['() => ({ next: () => 1 })', 'JSON has no functions: an object with methods loses them, so return its data'],
  ["() => Symbol('a')", 'JSON has no symbols'],
  ['async () => new Uint8Array(1)', 'JSON would lose these bytes: return Array.from(bytes), or text'],
  ['() => [1].values()', 'JSON would lose an iterator: return [...iterator]'],
])('an output that JSON would lose is refused with a sentence: %s', (handler, sentence) => {
  const errors = errorsOf(`${FLOW} flow.step({ slug: 'more' }, ${handler})`)
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain(sentence)
})

test('what JSON keeps is an output: interfaces, options, dates, unions, what is not known, recursive and branded types', () => {
  expect(
    errorsOf(`${FLOW}
      interface Tree { name: string; at?: Date; kids: Tree[] }
      type Id = string & { readonly brand: 'id' }
      flow
        .step({ slug: 'a' }, (): Tree => ({ name: 'x', kids: [] }))
        .step({ slug: 'b' }, () => ({ id: 'x' as Id, some: null as unknown, any: JSON.parse('1'), text: undefined as string | undefined }))
        .step({ slug: 'c' }, async () => (Math.random() > 0.5 ? { ok: true as const, v: 1 } : { ok: false as const, e: 'x' }))
        .step({ slug: 'd' }, () => {})
        .step({ slug: 'e' }, async () => { throw new Error() })
        .step({ slug: 'e2' }, async () => {})
        .step({ slug: 'e3' }, async () => void 1)
        .step({ slug: 'e4' }, async (): Promise<string | undefined> => undefined)
        .step({ slug: 'f' }, () => [1, new Date(), new URL('http://localhost')] as const)
        .step({ slug: 'g' }, (): object => ({}))
        .step({ slug: 'h' }, async (_input, ctx) => await ctx.sql<{ id: number }[]>\`select 1 as id\`)
        .map({ slug: 'i', array: 'h' }, (row) => row.id.toFixed())
    `),
  ).toEqual([])
})
