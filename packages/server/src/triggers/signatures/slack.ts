import { createHash } from 'node:crypto'
import { valueAt } from '../json-pointer.ts'
import { checkSigned, checkTimestamp, fromHex, hmac, type SignatureScheme } from './signature-scheme.ts'

/** `x-slack-signature: v0=<hex>` over `v0:<seconds>:<body>`. */
export const slack: SignatureScheme = {
  verify({ headers, rawBody }, secrets, nowMs) {
    const timestamp = checkTimestamp(headers.get('x-slack-request-timestamp'), nowMs)
    const [, signature] = /^v0=(.*)$/.exec(headers.get('x-slack-signature') ?? '') ?? []
    checkSigned(
      fromHex(signature),
      secrets.map((secret) => hmac('sha256', secret, `v0:${timestamp}:`, rawBody)),
    )
  },
  /** An event, or a command or a click; of anything else the request itself. */
  deliveryOf: ({ headers, rawBody }, body) => {
    for (const field of ['event_id', 'trigger_id']) {
      const id = valueAt(body, [field])
      if (typeof id === 'string') return id
    }
    const timestamp = headers.get('x-slack-request-timestamp') ?? ''
    return createHash('sha256').update(`${timestamp}:`).update(rawBody).digest('hex')
  },
  /** Its challenge, which proves that this is the right address. To anything else nothing: Slack shows its user what it is told. */
  answerTo: (body) => (isSlackChallenge(body) ? body.challenge.slice(0, 1000) : ''),
}

/** Slack asks whether an address is the right one: there is nothing to start. */
export function isSlackChallenge(body: unknown): body is { readonly challenge: string } {
  return valueAt(body, ['type']) === 'url_verification' && typeof valueAt(body, ['challenge']) === 'string'
}
