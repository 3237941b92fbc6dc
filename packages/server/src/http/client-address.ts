/**
 * Where a request comes from: its connection, or what the proxies in front have written. Each appends the address that it
 * saw, so that only as many entries from the end are believed as there are proxies of our own.
 */
export function clientAddress(connection: string, forwardedFor: string | undefined, trustedProxies: number): string {
  if (trustedProxies === 0 || forwardedFor === undefined) return connection
  const seen = forwardedFor.split(',').map((entry) => entry.trim())
  return seen.at(-Math.min(trustedProxies, seen.length)) || connection
}
