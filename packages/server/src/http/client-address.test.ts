import { expect, it } from 'vitest'
import { clientAddress } from './client-address.ts'

it.each([
  ['without a proxy, what a request says of itself is not believed', 'c', '1.1.1.1', 0, 'c'],
  ['behind one proxy, what it wrote last is', 'p', '9.9.9.9, 1.1.1.1', 1, '1.1.1.1'],
  ['behind two proxies, what the outer one wrote is', 'p', '9.9.9.9, 1.1.1.1, 2.2.2.2', 2, '1.1.1.1'],
  ['a header that is too short is taken as it is', 'p', '1.1.1.1', 2, '1.1.1.1'],
  ['a proxy that writes nothing is the client', 'p', undefined, 1, 'p'],
  ['a port that a proxy writes with it is no part of it', 'p', '1.1.1.1:5678', 1, '1.1.1.1'],
  ['nor that of an IPv6 address', 'p', '[2001:db8:1:2::7]:443', 1, '2001:db8:1:2::/64'],
  ['an IPv4 address in the form of IPv6 is that', '::ffff:10.0.0.1', undefined, 0, '10.0.0.1'],
  ['of IPv6 the network counts: one client has all of it', '2001:DB8:1:2:3:4:5:6', undefined, 0, '2001:db8:1:2::/64'],
  ['also where zeros are left out', '2001:db8::1', undefined, 0, '2001:db8:0:0::/64'],
  ['and with a zone', 'fe80::1%eth0', undefined, 0, 'fe80:0:0:0::/64'],
  ['what is no address counts as it is', 'p', 'unknown', 1, 'unknown'],
])('%s', (_, connection, header, proxies, expected) => {
  expect(clientAddress(connection, header, proxies)).toBe(expected)
})
