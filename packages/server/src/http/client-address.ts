import { isIPv4, isIPv6 } from 'node:net'

/**
 * Where a request comes from: its connection, or what the proxies in front have written. Each appends the address that it
 * saw, so that only as many entries from the end are believed as there are proxies of our own. Of an IPv6 address it is the network of
 * 64 bits: whoever has one address there has them all, and would be somebody else with each request.
 */
export function clientAddress(connection: string, forwardedFor: string | undefined, trustedProxies: number): string {
  if (trustedProxies === 0 || forwardedFor === undefined) return networkOf(connection)
  const seen = forwardedFor.split(',').map((entry) => entry.trim())
  return networkOf(seen.at(-Math.min(trustedProxies, seen.length)) || connection)
}

function networkOf(text: string): string {
  // Some proxies write the port with it, some systems the zone.
  const [, bracketed, withPort] = /^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$/.exec(text) ?? []
  const address = (bracketed ?? withPort ?? text).replace(/%.*$/, '').toLowerCase()
  const mapped = address.replace(/^::ffff:/, '')
  if (isIPv4(mapped)) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  const network = [...groups, ...Array<string>(missing).fill('0'), ...(tail ?? '').split(':')].slice(0, 4)
  return `${network.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/64`
}
