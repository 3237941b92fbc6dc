import { describe, expect, it } from 'vitest'
import { isAuthorised } from './request-auth.ts'

function request(headers: Record<string, string>): Request {
  return new Request('http://localhost/my-worker', { headers })
}

describe('isAuthorised', () => {
  it('takes the secret as bearer token or as apikey', async () => {
    expect(await isAuthorised(request({ authorization: 'Bearer s3cret' }), ['s3cret'])).toBe(true)
    expect(await isAuthorised(request({ authorization: 'bearer s3cret' }), ['s3cret'])).toBe(true)
    expect(await isAuthorised(request({ apikey: 's3cret' }), ['s3cret'])).toBe(true)
  })

  it('takes any of several secrets', async () => {
    expect(await isAuthorised(request({ apikey: 'new' }), ['old', 'new'])).toBe(true)
  })

  for (const [what, headers] of [
    ['no header', {}],
    ['a wrong secret', { authorization: 'Bearer s3cre' }],
    ['another scheme', { authorization: 'Basic s3cret' }],
    ['the bare secret', { authorization: 's3cret' }],
    ['an empty apikey', { apikey: '' }],
  ] as const) {
    it(`refuses ${what}`, async () => {
      expect(await isAuthorised(request(headers), ['s3cret'])).toBe(false)
    })
  }

  it('authorises nobody by an empty secret, nor without any', async () => {
    expect(await isAuthorised(request({ authorization: 'Bearer ', apikey: '' }), [''])).toBe(false)
    expect(await isAuthorised(request({ apikey: 'x' }), [])).toBe(false)
  })

  it('costs no more than the length of the header, whatever is in it', async () => {
    // By the square of its length a million of these would take hours: the limit of the test would end it.
    for (const blank of ['\xa0', '\t', ' ']) {
      const headers = { get: (name: string) => (name === 'authorization' ? `Bearer${blank.repeat(1_000_000)}` : null) }
      expect(await isAuthorised({ headers } as unknown as Request, ['s3cret'])).toBe(false)
    }
  })
})
