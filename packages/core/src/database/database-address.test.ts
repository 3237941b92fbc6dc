import { isStarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import { parseDatabaseUrl } from './database-address.ts'

const PLAIN = {
  ...{ host: 'db.example', port: 5432, user: 'user', password: 'pw', database: 'app' },
  ...{ tls: 'disable', isTransactionPooler: false },
}

describe('parseDatabaseUrl', () => {
  it.each([
    ['postgres://user:pw@db.example:5432/app', {}],
    ['postgresql://user:pw@db.example/app', {}],
    ['postgres://user:pw@db.example', { database: 'user' }],
    ['postgres://user:pw@db.example/app?sslmode=verify-full&application_name=x', { tls: 'verify-full' }],
    ['postgres://user:pw@db.example/app?sslmode=require', { tls: 'require' }],
    ['postgres://user:pw@db.example:6543/app', { port: 6543, isTransactionPooler: true }],
    ['postgres://user:pw@db.example/app?pgbouncer=true&connection_limit=1', { isTransactionPooler: true }],
    ['postgres://user:pw@[2001:db8::1]:5433/app', { host: '2001:db8::1', port: 5433 }],
    ['postgres://user.ref:pw@db.example/a%2Fb', { user: 'user.ref', database: 'a/b' }],
    ['postgres:///app?host=/var/run/postgresql', { host: '/var/run/postgresql', user: 'postgres', password: '' }],
    ['postgres://localhost/app', { host: 'localhost', user: 'postgres', password: '' }],
  ])('%s is read by parts', (url, parts) => {
    expect(parseDatabaseUrl(url)).toEqual({ ...PLAIN, ...parts })
  })

  it.each([
    ['p%40ss%3A%2F%25', 'p@ss:/%'],
    ['p@ss', 'p@ss'],
    ['p/a?b#c', 'p/a?b#c'],
    ['a:b@c:1/d@e', 'a:b@c:1/d@e'],
    ['#?&=', '#?&='],
  ])('the password %s is %s', (written, password) => {
    expect(parseDatabaseUrl(`postgres://user:${written}@db.example:5432/app`)).toEqual({ ...PLAIN, password })
  })

  it('an @ in a parameter is no part of the password', () => {
    expect(parseDatabaseUrl('postgres://user:pw@db.example:5432/app?application_name=a@b')).toEqual(PLAIN)
  })

  it('what is missing comes from the environment', () => {
    const env = { PGHOST: 'h', PGPORT: '1', PGUSER: 'u', PGPASSWORD: 'p', PGDATABASE: 'd', PGSSLMODE: 'require' }
    expect(parseDatabaseUrl('postgres://', env)).toEqual({
      ...{ host: 'h', port: 1, user: 'u', password: 'p', database: 'd', tls: 'require', isTransactionPooler: false },
    })
  })

  it.each([
    'mysql://user:hunter2@host/db',
    'user:hunter2@host/db',
    'postgres://user:hunter2%zz@host:5432/db',
    'postgres://user:hunter2@host:70000/db',
    'postgres://user:hunter2@host:port/db',
    'postgres://user:hunter2@one:1,two:2/db',
    'postgres://user:hunter2@host/db?sslmode=maybe',
  ])('%s is refused without its password', (url) => {
    try {
      parseDatabaseUrl(url)
      expect.unreachable()
    } catch (error) {
      expect(isStarflowError(error, 'SF001')).toBe(true)
      const told = `${(error as Error).stack} ${JSON.stringify(error)} ${String((error as Error).cause)}`
      expect(told).not.toMatch('hunter2')
    }
  })
})
