import { describe, expect, test } from 'vitest'
import { parseFilter } from './filter-grammar.ts'
import { parseOrderList } from './order-list.ts'
import { parseSelectList } from './select-list.ts'

const path = (column: string) => ({ column, steps: [] })
const comparison = (column: string, operator: string, value: unknown, more: object = {}) => ({
  kind: 'comparison',
  path: path(column),
  isNegated: false,
  operator,
  value,
  ...more,
})

describe('a filter', () => {
  test.each([
    ['age', 'gte.18', comparison('age', 'gte', '18')],
    ['name', 'eq."quotes" are part of it', comparison('name', 'eq', '"quotes" are part of it')],
    ['name', 'eq.', comparison('name', 'eq', '')],
    ['name', 'not.eq.a.b', comparison('name', 'eq', 'a.b', { isNegated: true })],
    ['id', 'in.(1,"a,b","c\\"d",)', comparison('id', 'in', ['1', 'a,b', 'c"d', ''])],
    ['id', 'in.()', comparison('id', 'in', [])],
    ['name', 'like(any).{a*,b*}', comparison('name', 'like', '{a*,b*}', { quantifier: 'any' })],
    ['text', 'wfts(german).der Hund', comparison('text', 'wfts', 'der Hund', { configuration: 'german' })],
    ['a-b c', 'is.null', comparison('a-b c', 'is', 'null')],
    ['"a.b"', 'is.null', comparison('a.b', 'is', 'null')],
  ])('%s=%s is read', (key, text, condition) => {
    expect(parseFilter(key, text)).toMatchObject(condition)
  })

  test('a JSON path has keys and indexes', () => {
    expect(parseFilter('data->steps->-1->>"odd key"', 'eq.x')).toMatchObject({
      path: {
        column: 'data',
        steps: [
          { arrow: '->', key: 'steps' },
          { arrow: '->', key: -1 },
          { arrow: '->>', key: 'odd key' },
        ],
      },
    })
  })

  test('a tree nests, negates, and keeps quotes, lists and arrays together', () => {
    expect(parseFilter('or', '(a.eq."x,y)",not.and(b.in.(1,2),c.not.cs.{p,"q,r"}),d.is.null)')).toMatchObject({
      kind: 'or',
      conditions: [
        comparison('a', 'eq', 'x,y)'),
        {
          kind: 'and',
          isNegated: true,
          conditions: [comparison('b', 'in', ['1', '2']), comparison('c', 'cs', '{p,"q,r"}', { isNegated: true })],
        },
        comparison('d', 'is', 'null'),
      ],
    })
    expect(parseFilter('not.or', '(a.eq.1)')).toMatchObject({ kind: 'or', isNegated: true })
  })

  test.each([
    ['a', 'nope.1'],
    ['a', 'constructor.1'],
    ['a', 'eq'],
    ['a', 'neq(any).{1}'],
    ['a', 'eq(some).{1}'],
    ['a', 'in.1,2'],
    ['a', 'in.(1'],
    ['a', 'in.(1)x'],
    ['', 'eq.1'],
    ['a->', 'eq.1'],
    ['a b"', 'eq.1'],
    ['or', 'a.eq.1'],
    ['or', '(a.eq.1'],
    ['or', '(a.eq.1))'],
    ['or', '(a)'],
    ['or', '()'],
    ['and', '(or(a.eq.1)'],
  ])('%s=%s is PGRST100 with the place', (key, text) => {
    expect(() => parseFilter(key, text)).toThrow(
      expect.objectContaining({ code: 'PGRST100', status: 400, message: expect.stringMatching(/line 1, column \d+/) }),
    )
  })

  test('a tree of any depth that a URL can hold is read', () => {
    const depth = 3_000
    const text = `(${'and('.repeat(depth)}a.eq.1${')'.repeat(depth)})`
    expect(parseFilter('or', text)).toMatchObject({ kind: 'or' })
  })
})

describe('a list of columns', () => {
  test('a selected column has a path, another name and a type', () => {
    expect(parseSelectList('*,a,name:b->c->>d::numeric(10,2),"x:y":z::double precision')).toEqual([
      '*',
      { path: path('a'), alias: undefined, cast: undefined },
      {
        path: {
          column: 'b',
          steps: [
            { arrow: '->', key: 'c' },
            { arrow: '->>', key: 'd' },
          ],
        },
        alias: 'name',
        cast: 'numeric(10,2)',
      },
      { path: path('z'), alias: 'x:y', cast: 'double precision' },
    ])
  })

  test.each(['tags(name)', 'orders:tags!inner(name)', '...tags(name)'])('%s is refused as embedded', (text) => {
    expect(() => parseSelectList(text)).toThrow(expect.objectContaining({ code: 'PGRST200' }))
  })

  test.each(['count()', 'n.sum()', 'total:n.sum()::text'])('%s is refused as an aggregate', (text) => {
    expect(() => parseSelectList(text)).toThrow(expect.objectContaining({ code: 'PGRST123' }))
  })

  test('an order has directions and a place for nulls', () => {
    expect(parseOrderList('a.desc.nullslast,b,c->>d.nullsfirst')).toEqual([
      { path: path('a'), direction: 'desc', nulls: 'last' },
      { path: path('b'), direction: 'asc', nulls: undefined },
      { path: { column: 'c', steps: [{ arrow: '->>', key: 'd' }] }, direction: 'asc', nulls: 'first' },
    ])
    expect(() => parseOrderList('a.up')).toThrow(expect.objectContaining({ code: 'PGRST100' }))
  })
})
