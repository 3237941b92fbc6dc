import { beforeAll, expect, test } from 'vitest'
import { completionsAt, errorsOf, hoverOf } from './support/editor-service.ts'

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

test('a wrong step slug is told with those that there are, beside another mistake, and without the type of the flow', () => {
  const errors = errorsOf(`${FLOW} EdgeWorker.start(queued, { stepSlug: 'clasify', maxConcurrent: 'all' })`)
  expect(errors).toEqual([
    `Type '"clasify"' is not assignable to type '"classify" | "deliver"'. Did you mean '"classify"'?`,
    "Type 'string' is not assignable to type 'number'.",
  ])
})

test('an editor shows the step slugs over stepSlug', () => {
  expect(hoverOf(`${FLOW} EdgeWorker.start(queued, { stepSlug: 'classify' })`, 'stepSlug')).toContain(
    '.stepSlug: "classify" | "deliver"',
  )
})

test('an editor shows the step slugs of a step-queued flow and of its routes, also where there are several', () => {
  expect(hoverOf(FLOW, 'queued')).toMatch(/"classify" \| "deliver">$/)
  expect(hoverOf(`${FLOW} for (const { stepSlug } of queued.routes) stepSlug`, 'stepSlug')).toBe(
    'const stepSlug: "classify" | "deliver"',
  )
})

test('of one flow or another, only a step that both have is taken', () => {
  const either = `${FLOW}
    const other = withStepQueues(new Flow({ slug: 'mails' }).step({ slug: 'deliver' }, () => 1).step({ slug: 'bounce' }, () => 2))
    const either = Math.random() > 0.5 ? queued : other
  `
  expect(errorsOf(`${either} EdgeWorker.start(either, { stepSlug: 'deliver' })`)).toEqual([])
  expect(errorsOf(`${either} EdgeWorker.start(either, { stepSlug: 'bounce' })`)).toEqual([
    `Type '"bounce"' is not assignable to type '"deliver"'.`,
  ])
})

test('a helper starts the workers of any step-queued flow', () => {
  expect(
    errorsOf(`${FLOW}
      function startAll(any: StepQueuedFlow) {
        for (const { stepSlug } of any.routes) EdgeWorker.start(any, { stepSlug })
      }
      startAll(queued)
      function startOne<T extends StepQueuedFlow>(definition: T & Startable<T>, ...config: StartArguments<T>) {
        EdgeWorker.start<unknown, T>(definition, ...config)
      }
      startOne(queued, { stepSlug: 'deliver' })
      function host<T extends AnyFlow>(flow: StepQueuedFlow<T>) {
        for (const { stepSlug } of flow.routes) EdgeWorker.start(flow, { stepSlug })
      }
      host(queued)
    `),
  ).toEqual([])
})

test.each([
  ['withStepQueues(queued)', 'This flow has step queues already: call withStepQueues once, on the finished flow'],
  [
    "queued.step({ slug: 'late' }, () => 1)",
    'Add steps before withStepQueues: it makes a queue for each step that is there',
  ],
  ['withStepQueues(withStepQueues(flow))', 'This flow has step queues already: call withStepQueues once'],
  [
    `EdgeWorker.start(new Flow<object, { mailer: object }>({ slug: 'a' }).step({ slug: 'b' }, () => 1))`,
    'This flow needs a context that the worker does not give: mailer',
  ],
  [
    `EdgeWorker.start(withStepQueues(new Flow<object, { mailer: object }>({ slug: 'a' }).step({ slug: 'b' }, () => 1)), { stepSlug: 'b' })`,
    'This flow needs a context that the worker does not give: mailer',
  ],
  [
    "EdgeWorker.start(flow, { stepSlug: 'classify' })",
    'This flow has one queue: leave stepSlug out, or start withStepQueues(flow)',
  ],
])('%s is answered with a sentence', (call, sentence) => {
  expect(errorsOf(`${FLOW} ${call}`).join('\n')).toContain(sentence)
})

test.each([
  ["EdgeWorker.start(queued, { stepSlug: 'classify', maxConcurent: 3 })", 'maxConcurrent'],
  ["EdgeWorker.start(() => 1, { queueName: 'a', retry: { limt: 3 } })", 'limit'],
  ["new Flow({ slug: 'a', maxAttempt: 3 })", 'maxAttempts'],
  ["flow.step({ slug: 'a', maxAttempt: 3 }, () => 1)", 'maxAttempts'],
  ["flow.array({ slug: 'a', maxAttempt: 3 }, () => [1])", 'maxAttempts'],
  ["flow.wait({ slug: 'a', timeOut: 3 })", 'timeout'],
  ['defineWorkers(queued, { classify: { maxConcurent: 3 } })', 'maxConcurrent'],
])('a misspelt option is answered with the one that is meant: %s', (call, option) => {
  const errors = errorsOf(`${FLOW} ${call}`)
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain(`Did you mean to write '${option}'?`)
})
