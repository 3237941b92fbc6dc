import { createHmac, timingSafeEqual } from 'node:crypto'
import { StarflowError } from '@starflow/errors'
import { WEBHOOK_TOLERANCE_MS } from '../../numbers.ts'

/** A request as it arrived: what is signed are its bytes, not what they mean. */
export interface SignedRequest {
  readonly headers: Headers
  readonly rawBody: Uint8Array
}

/** How one kind of sender proves that it sent a request, and what it calls a delivery. */
export interface SignatureScheme {
  /**
   * Whether one of the secrets has signed the request.
   *
   * @throws StarflowError SF922
   */
  verify(request: SignedRequest, secrets: readonly string[], nowMs: number): void
  /** What names the delivery; undefined when the request does not say. `body` is what was parsed. */
  deliveryOf(request: SignedRequest, body: unknown): string | undefined
  /** The text that the sender has to be answered with: undefined where it does not care. */
  answerTo?(body: unknown): string
}

export type HmacAlgorithm = 'sha1' | 'sha256' | 'sha512'

export function hmac(algorithm: HmacAlgorithm, key: string | Uint8Array, ...parts: (string | Uint8Array)[]): Buffer {
  const signature = createHmac(algorithm, key)
  for (const part of parts) signature.update(part)
  return signature.digest()
}

/**
 * Whether any of the given signatures is any of the expected ones. Every pair is compared, in constant time, so that the answer
 * takes as long whichever it is.
 */
function isAnySigned(given: readonly Buffer[], expected: readonly Buffer[]): boolean {
  let isSigned = false
  for (const signature of given) {
    for (const other of expected) {
      if (signature.length === other.length && timingSafeEqual(signature, other)) isSigned = true
    }
  }
  return isSigned
}

/** A signature in hex; nothing for what is none. */
export function fromHex(text: string | undefined): Buffer[] {
  return text !== undefined && /^(?:[0-9a-f]{2}){1,64}$/i.test(text) ? [Buffer.from(text, 'hex')] : []
}

/** A signature in base64; nothing for what is none. */
export function fromBase64(text: string | undefined): Buffer[] {
  return text !== undefined && /^[A-Za-z0-9+/]{1,88}={0,2}$/.test(text) ? [Buffer.from(text, 'base64')] : []
}

/**
 * Checks that a timestamp, in seconds, is near: what was overheard is worth nothing later.
 *
 * @throws StarflowError SF922
 */
export function checkTimestamp(seconds: string | undefined | null, nowMs: number): string {
  if (seconds == null || !/^\d{1,12}$/.test(seconds)) throw notSigned('It carries no timestamp.')
  if (Math.abs(nowMs - Number(seconds) * 1000) > WEBHOOK_TOLERANCE_MS) {
    throw notSigned(
      `Its timestamp is more than ${WEBHOOK_TOLERANCE_MS / 60_000} minutes away from the clock of this server.`,
    )
  }
  return seconds
}

/** @throws StarflowError SF922 */
export function checkSigned(given: readonly Buffer[], expected: readonly Buffer[]): void {
  if (given.length === 0) throw notSigned('It carries no signature.')
  if (!isAnySigned(given, expected)) throw notSigned('Its signature is not one of a secret that is known here.')
}

function notSigned(detail: string): StarflowError {
  return new StarflowError({
    code: 'SF922',
    message: 'The request is not signed by the sender that this webhook expects.',
    detail,
    hint: 'Compare the secret of the sender with the environment variable that starflow.yaml names. Nothing was started.',
  })
}
