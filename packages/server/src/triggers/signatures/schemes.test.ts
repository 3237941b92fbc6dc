import { createHmac } from 'node:crypto'
import { isStarflowError } from '@starflow/errors'
import { describe, expect, test } from 'vitest'
import type { SignatureDeclaration } from '../declarations.ts'
import { schemeOf } from './schemes.ts'

interface Vector {
  readonly declaration: SignatureDeclaration
  readonly secret: string
  /** When it was signed, in seconds; undefined where the scheme has no timestamp. */
  readonly at: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signatureHeader: string
}

const secrets = ['IN_THE_ENVIRONMENT']
const SLACK_BODY =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
const hexOf = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex')

/** GitHub's, Slack's and that of Standard Webhooks are the examples of their documentation; the others are made here. */
const VECTORS: Readonly<Record<string, Vector>> = {
  github: {
    declaration: { scheme: 'github', secrets },
    secret: "It's a Secret to Everybody",
    at: undefined,
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    body: 'Hello, World!',
    signatureHeader: 'x-hub-signature-256',
  },
  slack: {
    declaration: { scheme: 'slack', secrets },
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    at: 1531420618,
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: SLACK_BODY,
    signatureHeader: 'x-slack-signature',
  },
  'standard-webhooks': {
    declaration: { scheme: 'standard-webhooks', secrets },
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    at: 1614265330,
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    signatureHeader: 'webhook-signature',
  },
  stripe: {
    declaration: { scheme: 'stripe', secrets },
    secret: 'whsec_of_these_tests_alone',
    at: 1492774577,
    headers: {
      'stripe-signature': `t=1492774577,v0=${'6f'.repeat(32)},v1=${hexOf('whsec_of_these_tests_alone', '1492774577.{"id":"evt_1"}')}`,
    },
    body: '{"id":"evt_1"}',
    signatureHeader: 'stripe-signature',
  },
  hmac: {
    declaration: {
      ...{ scheme: 'hmac', secrets, header: 'x-signature', prefix: 'sha256=', algorithm: 'sha256', encoding: 'hex' },
      timestamp: { header: 'x-timestamp', separator: ':' },
    },
    secret: 'a secret that is long enough',
    at: 1700000000,
    headers: {
      'x-timestamp': '1700000000',
      'x-signature': `sha256=${hexOf('a secret that is long enough', '1700000000:{}')}`,
    },
    body: '{}',
    signatureHeader: 'x-signature',
  },
}

interface Change {
  readonly secrets?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** How much later it arrives, in seconds. */
  readonly later?: number
}

/** Undefined when it is accepted; else why not. */
function refusal({ declaration, secret, at, headers, body }: Vector, change: Change = {}): string | undefined {
  const request = {
    headers: new Headers({ ...headers, ...change.headers }),
    rawBody: new TextEncoder().encode(change.body ?? body),
  }
  try {
    schemeOf(declaration).verify(request, change.secrets ?? [secret], ((at ?? 0) + (change.later ?? 0)) * 1000)
    return undefined
  } catch (error) {
    if (!isStarflowError(error, 'SF922')) throw error
    return error.detail
  }
}

describe.each(Object.entries(VECTORS))('%s', (_, vector) => {
  const { secret, headers, signatureHeader } = vector

  test('what the sender signed is accepted', () => {
    expect(refusal(vector)).toBeUndefined()
  })

  test('another body, another secret and no signature are refused', () => {
    expect(refusal(vector, { body: `${vector.body} ` })).toContain('signature')
    expect(refusal(vector, { secrets: ['another secret, as long as it'] })).toContain('signature')
    expect(refusal(vector, { headers: { [signatureHeader]: '' } })).toBeDefined()
    expect(refusal(vector, { headers: { [signatureHeader]: 'nonsense=%' } })).toBeDefined()
    expect(refusal(vector, { headers: { [signatureHeader]: headers[signatureHeader]!.slice(0, -2) } })).toBeDefined()
  })

  test('while a secret is changed either one has signed', () => {
    expect(refusal(vector, { secrets: ['the next secret, as long as it', secret] })).toBeUndefined()
    expect(refusal(vector, { secrets: [secret, 'the last secret, as long as it'] })).toBeUndefined()
  })
})

describe.each(Object.entries(VECTORS).filter(([, { at }]) => at !== undefined))('%s', (_, vector) => {
  test('more than five minutes away, to either side, is refused', () => {
    expect(refusal(vector, { later: 300 })).toBeUndefined()
    expect(refusal(vector, { later: -300 })).toBeUndefined()
    expect(refusal(vector, { later: 301 })).toContain('5 minutes')
    expect(refusal(vector, { later: -301 })).toContain('5 minutes')
  })
})

test('a header with several signatures is good when one of them is', () => {
  const { stripe, 'standard-webhooks': standard } = VECTORS
  const other = 'ab'.repeat(32)
  const [time, , good] = stripe!.headers['stripe-signature']!.split(',')
  expect(refusal(stripe!, { headers: { 'stripe-signature': `${time},v1=${other},${good}` } })).toBeUndefined()
  const two = `v1,${Buffer.from(other, 'hex').toString('base64')} ${standard!.headers['webhook-signature']}`
  expect(refusal(standard!, { headers: { 'webhook-signature': two } })).toBeUndefined()
  expect(refusal(standard!, { headers: { 'webhook-signature': two.replaceAll('v1,', 'v2,') } })).toContain(
    'no signature',
  )
})

test("the id of a delivery is the scheme's own", () => {
  const deliveryOf = (scheme: string, headers: Record<string, string>, body: unknown) =>
    schemeOf(VECTORS[scheme]!.declaration).deliveryOf(
      { headers: new Headers(headers), rawBody: new TextEncoder().encode(JSON.stringify(body)) },
      body,
    )
  expect(deliveryOf('github', { 'x-github-delivery': 'a-guid' }, {})).toBe('a-guid')
  expect(deliveryOf('stripe', {}, { id: 'evt_1' })).toBe('evt_1')
  expect(deliveryOf('slack', {}, { event_id: 'Ev1' })).toBe('Ev1')
  expect(deliveryOf('slack', {}, { trigger_id: '1.2.3' })).toBe('1.2.3')
  expect(deliveryOf('slack', {}, {})).toMatch(/^[0-9a-f]{64}$/)
  expect(deliveryOf('standard-webhooks', { 'webhook-id': 'msg_1' }, {})).toBe('msg_1')
  expect(deliveryOf('hmac', {}, {})).toBeUndefined()
})
