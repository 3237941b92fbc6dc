import { isStarflowError } from '@starflow/errors'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { openConnections, parseDatabaseUrl, refusedSql } from './worker-connections.ts'

const URL = 'postgres://user:pw@db.example:5432/app'

describe('openConnections', () => {
  it('keeps one of maxPgConnections for the worker', () => {
    const { own, handlers } = openConnections({ databaseUrl: URL }, 4, 'test')
    expect(own.options.max).toBe(1)
    expect(handlers?.options.max).toBe(3)
  })

  it('leaves handlers none of one', () => {
    expect(openConnections({ databaseUrl: URL }, 1, 'test').handlers).toBeUndefined()
  })

  it('prepares statements on a direct connection and not through a transaction pooler', () => {
    const direct = openConnections({ databaseUrl: URL }, 2, 'test')
    expect([direct.prepared, direct.own.options.prepare, direct.handlers?.options.prepare]).toEqual([true, true, true])
    const pooled = openConnections({ databaseUrl: URL.replace('5432', '6543') }, 2, 'test')
    expect([pooled.prepared, pooled.own.options.prepare, pooled.handlers?.options.prepare]).toEqual([
      false,
      false,
      false,
    ])
  })

  it('gives handlers the client that was given, and takes one connection beside it', () => {
    const given = postgres(URL, { max: 3, prepare: false })
    const { own, handlers, prepared } = openConnections({ sql: given, databaseUrl: undefined }, 4, 'test')
    expect(handlers?.options).toBe(given.options)
    expect(own.options.max).toBe(1)
    expect(own.options.host).toEqual(['db.example'])
    expect(prepared).toBe(false)
  })
})

describe('openConnections, given a URL that is none', () => {
  it('says so without repeating its password', () => {
    try {
      openConnections({ databaseUrl: 'postgres://user:hunter2%zz@host:5432/db' }, 2, 'test')
      expect.unreachable()
    } catch (error) {
      expect(isStarflowError(error, 'SF001')).toBe(true)
      expect(`${(error as Error).stack} ${JSON.stringify(error)} ${String((error as Error).cause)}`).not.toMatch(
        'hunter2',
      )
    }
  })
})

describe('parseDatabaseUrl', () => {
  it('tells a pooler by port or note, and takes the note out', () => {
    expect(parseDatabaseUrl(`${URL}?pgbouncer=true&sslmode=require`)).toEqual({
      cleanUrl: `${URL}?sslmode=require`,
      isTransactionPooler: true,
    })
    expect(parseDatabaseUrl('postgres://u:p@h:6543/db').isTransactionPooler).toBe(true)
    expect(parseDatabaseUrl(URL)).toEqual({ cleanUrl: URL, isTransactionPooler: false })
  })
})

describe('refusedSql', () => {
  it('says which setting gives handlers a connection', () => {
    for (const use of [() => refusedSql()`select 1`, () => refusedSql().json({})]) {
      try {
        use()
        expect.unreachable()
      } catch (error) {
        expect(isStarflowError(error, 'SF406')).toBe(true)
        expect((error as { hint: string }).hint).toBe('Set maxPgConnections to 2 or more.')
      }
    }
  })
})
