import { isStarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import { FAILED_ATTEMPTS_WINDOW_MS, MAX_FAILED_ATTEMPTS, SESSION_TTL_MS } from '../numbers.ts'
import type { ServerStore, StoredApiToken } from '../store/server-store.ts'
import { makeApiToken } from './api-token.ts'
import { Authenticator } from './authenticator.ts'
import { scopeOf } from './caller.ts'
import { SessionCookie } from './session-cookie.ts'

const OPERATOR = 'a-token-of-an-operator'

class MemoryStore implements Pick<ServerStore, 'findToken' | 'hasSessionEnded'> {
  readonly tokens = new Map<string, StoredApiToken>()

  async findToken(tokenId: string) {
    return this.tokens.get(tokenId)
  }

  async hasSessionEnded() {
    return false
  }
}

function setUp() {
  const clock = { now: 1_000_000 }
  const store = new MemoryStore()
  const { token, record } = makeApiToken('shop', 'ci')
  store.tokens.set(record.tokenId, record)
  const authenticator = new Authenticator({ apiToken: OPERATOR, store: store as never, now: () => clock.now })
  const ask = (bearer: string | undefined, address = '10.0.0.1') =>
    authenticator.authenticate({ bearer, cookie: undefined, address }).then(
      ({ caller }) => caller,
      (error: { code: string }) => error.code,
    )
  return { clock, store, token, record, authenticator, ask }
}

describe('authentication', () => {
  it('knows the operator and the bearer of a token of a workspace', async () => {
    const { ask, token, record } = setUp()
    expect(await ask(OPERATOR)).toEqual({ kind: 'operator' })
    expect(await ask(token)).toEqual({ kind: 'workspace', workspaceId: 'shop', tokenId: record.tokenId })
  })

  it('keeps no more of a token than its id and a hash', () => {
    const { token, record } = setUp()
    const secret = token.split('_').slice(2).join('_')
    expect(JSON.stringify(record)).not.toContain(secret)
    expect(record.secretHash).toMatch(/^[0-9a-f]{64}$/)
  })

  it('refuses another secret of the same id, a revoked token and none', async () => {
    const { ask, token, store, record } = setUp()
    expect(await ask(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)).toBe('SF903')
    expect(await ask(undefined)).toBe('SF903')
    store.tokens.delete(record.tokenId)
    expect(await ask(token)).toBe('SF903')
  })

  it('looks at nothing from an address with too many failed attempts, until a while has passed', async () => {
    const { ask, clock, token } = setUp()
    for (let attempt = 0; attempt < MAX_FAILED_ATTEMPTS; attempt++) expect(await ask(`wrong ${attempt}`)).toBe('SF903')
    expect(await ask(token)).toBe('SF906')
    expect(await ask(token, '10.0.0.2')).toMatchObject({ kind: 'workspace' })
    clock.now += FAILED_ATTEMPTS_WINDOW_MS
    expect(await ask(token)).toMatchObject({ kind: 'workspace' })
  })

  it('counts guesses that come at once as those that come one by one', async () => {
    const { ask } = setUp()
    const forged = Array.from({ length: 50 }, () => makeApiToken('shop', 'forged').token)
    const answers = await Promise.all(forged.map((token) => ask(token)))
    expect(answers.filter((code) => code === 'SF903')).toHaveLength(MAX_FAILED_ATTEMPTS)
    expect(answers.filter((code) => code === 'SF906')).toHaveLength(40)
  })

  it('lets those go on who were known before somebody at their address guessed', async () => {
    const { ask, token } = setUp()
    await ask(token)
    for (let attempt = 0; attempt < MAX_FAILED_ATTEMPTS + 3; attempt++) await ask(`wrong ${attempt}`)
    expect(await ask('another')).toBe('SF906')
    expect(await ask(token)).toMatchObject({ kind: 'workspace' })
  })

  it('ends a sign-in with its token', async () => {
    const { authenticator, ask, store, token, record } = setUp()
    const caller = await ask(token)
    const cookie = authenticator.sessions.seal(caller as never).value
    const signIn = () => authenticator.authenticate({ bearer: undefined, cookie, address: '10.0.0.1' })
    expect(await signIn()).toMatchObject({ caller, via: 'cookie' })
    store.tokens.delete(record.tokenId)
    await expect(signIn()).rejects.toMatchObject({ code: 'SF903' })
  })
})

describe('the cookie of a sign-in', () => {
  const clock = { now: 0 }
  const cookie = new SessionCookie(OPERATOR, () => clock.now)
  const { value } = cookie.seal({ kind: 'workspace', workspaceId: 'shop', tokenId: 't' })

  it('is no longer good when its time is over', () => {
    expect(cookie.open(value)).toMatchObject({ caller: { workspaceId: 'shop' } })
    clock.now = SESSION_TTL_MS
    expect(cookie.open(value)).toBeUndefined()
    clock.now = 0
  })

  it('is not good when it was changed, or sealed under another token of an operator', () => {
    const [body, signature] = value.split('.') as [string, string]
    const forged = Buffer.from(JSON.stringify({ caller: { kind: 'operator' }, expiresAt: 9e15 })).toString('base64url')
    for (const text of [`${forged}.${signature}`, body, '', '.', `${value}.x`, 'x.y']) {
      expect(cookie.open(text)).toBeUndefined()
    }
    expect(new SessionCookie('another-operator-token', () => 0).open(value)).toBeUndefined()
  })
})

describe('the scope of a request', () => {
  const workspace = { kind: 'workspace', workspaceId: 'shop', tokenId: 't' } as const
  const codeOf = (work: () => unknown) => {
    try {
      return work()
    } catch (error) {
      return isStarflowError(error) ? error.code : error
    }
  }

  it.each([
    ['a token of a workspace stands for it', workspace, undefined, { workspaceId: 'shop' }],
    ['a token of a workspace may name it', workspace, 'shop', { workspaceId: 'shop' }],
    ['a token of a workspace may name no other', workspace, 'bank', 'SF904'],
    ['a token of a workspace may not name all', workspace, '*', 'SF904'],
    ['the operator names one', { kind: 'operator' }, 'bank', { workspaceId: 'bank' }],
    ['the operator may name all', { kind: 'operator' }, '*', 'every'],
    ['the operator names something', { kind: 'operator' }, undefined, 'SF905'],
    ['a name is a name', { kind: 'operator' }, 'a b', 'SF902'],
  ] as const)('%s', (_, caller, header, expected) => {
    expect(codeOf(() => scopeOf(caller, header))).toEqual(expected)
  })
})
