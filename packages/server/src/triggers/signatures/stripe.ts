import { valueAt } from '../json-pointer.ts'
import { checkSigned, checkTimestamp, fromHex, hmac, type SignatureScheme } from './signature-scheme.ts'

/** `stripe-signature: t=<seconds>,v1=<hex>[,v1=<hex>]` over `<seconds>.<body>`: one v1 per secret while one is changed. */
export const stripe: SignatureScheme = {
  verify({ headers, rawBody }, secrets, nowMs) {
    const parts = (headers.get('stripe-signature') ?? '').split(',').map((part) => part.trim().split(/=(.*)/s))
    const valuesOf = (key: string) => parts.filter(([name]) => name === key).map(([, value]) => value)
    const timestamp = checkTimestamp(valuesOf('t')[0], nowMs)
    checkSigned(
      valuesOf('v1').flatMap(fromHex),
      secrets.map((secret) => hmac('sha256', secret, `${timestamp}.`, rawBody)),
    )
  },
  deliveryOf: (_, body) => textOf(valueAt(body, ['id'])),
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
