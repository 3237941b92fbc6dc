import type { SignatureDeclaration } from '../declarations.ts'
import { checkSigned, checkTimestamp, fromBase64, fromHex, hmac, type SignatureScheme } from './signature-scheme.ts'

/** Anybody who signs the body with an HMAC, as the file describes it. */
export function genericHmac(declaration: Extract<SignatureDeclaration, { scheme: 'hmac' }>): SignatureScheme {
  const { header, prefix, algorithm, encoding, timestamp } = declaration
  const decode = encoding === 'hex' ? fromHex : fromBase64
  return {
    verify({ headers, rawBody }, secrets, nowMs) {
      const seconds = timestamp && checkTimestamp(headers.get(timestamp.header), nowMs)
      const text = headers.get(header) ?? ''
      const signedBefore = timestamp === undefined ? [] : [`${seconds}${timestamp.separator}`]
      checkSigned(
        text.startsWith(prefix) ? decode(text.slice(prefix.length)) : [],
        secrets.map((secret) => hmac(algorithm, secret, ...signedBefore, rawBody)),
      )
    },
    deliveryOf: () => undefined,
  }
}
