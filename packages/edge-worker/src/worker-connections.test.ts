import { isStarflowError } from '@starflow/errors'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { openConnections } from './worker-connections.ts'

const URL = 'postgres://user:pw@db.example:5432/app'
const attempt = new AbortController().signal

describe('openConnections', () => {
  it('keeps one of maxPgConnections for the worker', () => {
    const { own, handlers } = openConnections({ databaseUrl: URL }, 4, 'test')
    expect(own.prepares).toBe(true)
    expect(handlers.lend(attempt).sql.options.max).toBe(3)
  })

  it('leaves handlers none of one, and says which setting gives them one', () => {
    const { spare, handlers } = openConnections({ databaseUrl: URL }, 1, 'test')
    expect(spare).toBeUndefined()
    const { sql } = handlers.lend(attempt)
    for (const use of [() => sql`select 1`, () => sql.json({})]) {
      try {
        use()
        expect.unreachable()
      } catch (error) {
        expect(isStarflowError(error, 'SF406')).toBe(true)
        expect((error as { hint: string }).hint).toBe('Set maxPgConnections to 2 or more.')
      }
    }
  })

  it('prepares statements on a direct connection and not through a transaction pooler', () => {
    const direct = openConnections({ databaseUrl: URL }, 2, 'test')
    const pooled = openConnections({ databaseUrl: URL.replace('5432', '6543') }, 2, 'test')
    for (const [{ own, spare, handlers, prepared }, expected] of [
      [direct, true],
      [pooled, false],
    ] as const) {
      const seen = [prepared, own.prepares, spare?.prepares, handlers.lend(attempt).sql.options.prepare]
      expect(seen).toEqual([expected, expected, expected, expected])
    }
  })

  it('gives handlers the client that was given, and takes one connection beside it', () => {
    const given = postgres(URL, { max: 3, prepare: false })
    const { own, handlers, prepared } = openConnections({ sql: given, databaseUrl: undefined }, 4, 'test')
    expect(handlers.lend(attempt).sql.options).toBe(given.options)
    expect([prepared, own.prepares]).toEqual([false, false])
  })
})
