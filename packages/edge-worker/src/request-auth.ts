/**
 * True when the request carries one of `secrets` as bearer token or in the `apikey` header. Takes the same time for
 * every wrong secret of a length class: digests are compared, not the texts.
 */
export async function isAuthorised(request: Request, secrets: readonly string[]): Promise<boolean> {
  const presented = [bearerToken(request.headers.get('authorization')), request.headers.get('apikey')]
  const presentedDigests = await Promise.all(presented.filter(isPresent).map(digest))
  const secretDigests = await Promise.all(secrets.filter(isPresent).map(digest))
  let authorised = false
  for (const candidate of presentedDigests) {
    for (const secret of secretDigests) authorised = sameBytes(candidate, secret) || authorised
  }
  return authorised
}

function bearerToken(header: string | null): string | null {
  // No regex over the token: what is checked before the caller is known costs no more than its length.
  return header !== null && /^bearer\s/i.test(header) ? header.slice(6).trim() : null
}

function isPresent(value: string | null): value is string {
  return value !== null && value !== ''
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length
  for (let i = 0; i < left.length; i++) difference |= (left[i] ?? 0) ^ (right[i] ?? 0)
  return difference === 0
}
