import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidOutputError, toJsonText } from './index.ts'

class FieldsOnly {
  readonly id = 1
}
class WithGetter {
  readonly #total = 1
  readonly id = 1
  get total() {
    return this.#total
  }
}
class InheritsOnly extends WithGetter {}
function* numbers() {
  yield 1
}

describe('toJsonText', () => {
  it.each([
    [undefined, 'null'],
    [null, 'null'],
    [0, '0'],
    [false, 'false'],
    ['', '""'],
    [[], '[]'],
    [{}, '{}'],
    [{ a: undefined, b: 1 }, '{"b":1}'],
    [[undefined, 1], '[null,1]'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a \\u0000 that is only written out', '"a \\\\u0000 that is only written out"'],
    ['\ud83d\ude00', '"\ud83d\ude00"'],
    ['\u0001', '"\\u0001"'],
    [Object.create(null), '{}'],
    [new URL('http://localhost/'), '"http://localhost/"'],
    [[new Number(1), new String('a'), new Boolean(false)], '[1,"a",false]'],
    [new FieldsOnly(), '{"id":1}'],
    [runInNewContext('({ a: [1] })'), '{"a":[1]}'],
  ])('%j becomes %s', (value, text) => {
    expect(toJsonText(value)).toBe(text)
  })

  it('every JSON value survives unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
        expect(JSON.parse(toJsonText(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
      { numRuns: 300 },
    )
  })

  it('an object that is used twice is no cycle', () => {
    const shared = { n: 1 }
    expect(toJsonText([shared, { shared }])).toBe('[{"n":1},{"shared":{"n":1}}]')
  })

  const cycle: { items: unknown[] } = { items: [] }
  cycle.items.push({ back: cycle })

  it.each<[unknown, string, string]>([
    ['a\0b', '$', 'NUL'],
    [{ a: ['x', { 'my key': 'a\0b' }] }, '$.a[1]["my key"]', 'NUL'],
    [{ a: '\ud83d' }, '$.a', 'surrogate'],
    [['\ude00'], '$[0]', 'surrogate'],
    [{ a: '\ude00\ud83d' }, '$.a', 'surrogate'],
    [{ 'a\0': 1 }, '$', 'key'],
    [{ n: 1n }, '$.n', 'BigInt'],
    [1n, '$', 'BigInt'],
    [{ n: [1, Number.NaN] }, '$.n[1]', 'NaN'],
    [Number.POSITIVE_INFINITY, '$', 'Infinity'],
    [cycle, '$.items[0].back', 'refers back'],
    [() => 1, '$', 'function'],
    [{ f: () => 1 }, '$.f', 'function'],
    [[Symbol('s')], '$[0]', 'symbol'],
    [{ m: new Map([[1, 2]]) }, '$.m', 'Map'],
    [{ s: new Set([1]) }, '$.s', 'Set'],
    [{ p: Promise.resolve(1) }, '$.p', 'Promise'],
    [{ e: new TypeError('x') }, '$.e', 'TypeError'],
    [{ d: new Date(Number.NaN) }, '$.d', 'invalid Date'],
    [{ r: new Response('{}') }, '$.r', 'Response'],
    [new Request('http://localhost/'), '$', 'Request'],
    [[new Headers()], '$[0]', 'Headers'],
    [new URLSearchParams('a=1'), '$', 'URLSearchParams'],
    [new FormData(), '$', 'FormData'],
    [new Blob(['a']), '$', 'Blob'],
    [new Uint8Array(2), '$', 'Uint8Array'],
    [new ArrayBuffer(2), '$', 'ArrayBuffer'],
    [new DataView(new ArrayBuffer(2)), '$', 'DataView'],
    [{ rows: [1].values() }, '$.rows', 'Array Iterator'],
    [numbers(), '$', 'Generator'],
    [AbortSignal.abort(), '$', 'AbortSignal'],
    [new WeakRef({}), '$', 'WeakRef'],
    [new Intl.NumberFormat('en'), '$', 'NumberFormat'],
    [new WithGetter(), '$', 'WithGetter'],
    [[new InheritsOnly()], '$[0]', 'InheritsOnly'],
    [Object.create({ inherited: 1 }), '$', 'Object'],
    [runInNewContext('new Map([[1, 2]])'), '$', 'Map'],
  ])('case %#: what JSON or Postgres cannot hold is refused with its path', (value, path, problem) => {
    const error = thrownBy(() => toJsonText(value))
    expect(error).toBeInstanceOf(InvalidOutputError)
    expect(error).toMatchObject({ code: 'SF304', path })
    expect((error as Error).message).toContain(path)
    expect((error as Error).message).toContain(problem)
  })

  it('endless depth is refused, not a crash', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 200_000; depth++) deep = [deep]
    expect(thrownBy(() => toJsonText(deep))).toMatchObject({ code: 'SF304' })
  })

  it('the refusal does not repeat the content', () => {
    expect(String((thrownBy(() => toJsonText({ a: 'secret\0' })) as Error).message)).not.toContain('secret')
  })
})

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}
