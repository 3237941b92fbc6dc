import { checkSigned, fromHex, hmac, type SignatureScheme } from './signature-scheme.ts'

/** `x-hub-signature-256: sha256=<hex>` over the body. It has no timestamp: a delivery is known by its id alone. */
export const github: SignatureScheme = {
  verify({ headers, rawBody }, secrets) {
    const [, signature] = /^sha256=(.*)$/.exec(headers.get('x-hub-signature-256') ?? '') ?? []
    checkSigned(
      fromHex(signature),
      secrets.map((secret) => hmac('sha256', secret, rawBody)),
    )
  },
  deliveryOf: ({ headers }) => headers.get('x-github-delivery') ?? undefined,
}
