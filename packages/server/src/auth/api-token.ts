import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { NewApiToken } from '../store/server-store.ts'

/** `sft_<id>_<secret>`: the id finds the row, the secret (32 random bytes) proves that the bearer was given the token. */
const API_TOKEN = /^sft_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

/** Makes a token of a workspace. It is shown this once: of its secret only the hash is kept. */
export function makeApiToken(workspaceId: string, name: string): { token: string; record: NewApiToken } {
  const tokenId = randomBytes(8).toString('hex')
  const secret = randomBytes(32).toString('base64url')
  return {
    token: `sft_${tokenId}_${secret}`,
    record: { tokenId, workspaceId, name, secretHash: digestOf(secret) },
  }
}

/** Undefined for a text that cannot be a token of a workspace. */
export function parseApiToken(text: string): { tokenId: string; secret: string } | undefined {
  const [, tokenId, secret] = API_TOKEN.exec(text) ?? []
  return tokenId === undefined || secret === undefined ? undefined : { tokenId, secret }
}

export function hasSecretHash(secret: string, secretHash: string): boolean {
  return timingSafeEqual(sha256(secret), Buffer.from(secretHash, 'hex'))
}

/** Hashes are compared, so that neither content nor length of the right one shows in the time it takes. */
export function areEqualSecrets(left: string, right: string): boolean {
  return timingSafeEqual(sha256(left), sha256(right))
}

/** What a secret may be remembered by. */
export function digestOf(secret: string): string {
  return sha256(secret).toString('hex')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
