import { checkSigned, checkTimestamp, fromBase64, hmac, type SignatureScheme } from './signature-scheme.ts'

/** Standard Webhooks: `webhook-signature: v1,<base64> …` over `<id>.<seconds>.<body>`; the secret is base64 behind `whsec_`. */
export const standardWebhooks: SignatureScheme = {
  verify({ headers, rawBody }, secrets, nowMs) {
    const timestamp = checkTimestamp(headers.get('webhook-timestamp'), nowMs)
    const id = headers.get('webhook-id') ?? ''
    const given = (headers.get('webhook-signature') ?? '').split(' ').flatMap((each) => {
      const [version, signature] = each.split(',')
      return version === 'v1' ? fromBase64(signature) : []
    })
    checkSigned(
      given,
      secrets.map((secret) => hmac('sha256', keyOf(secret), `${id}.${timestamp}.`, rawBody)),
    )
  },
  deliveryOf: ({ headers }) => headers.get('webhook-id') ?? undefined,
}

/** The headers that sign a request of our own: each secret signs, so that the receiver may be given another one meanwhile. */
export function signStandardWebhook(
  id: string,
  body: string,
  secrets: readonly string[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const signatures = secrets.map(
    (secret) => `v1,${hmac('sha256', keyOf(secret), `${id}.${timestamp}.`, body).toString('base64')}`,
  )
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

function keyOf(secret: string): Uint8Array {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
}
