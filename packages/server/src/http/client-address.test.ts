import { expect, it } from 'vitest'
import { clientAddress } from './client-address.ts'

it.each([
  ['without a proxy, what a request says of itself is not believed', 'c', '1.1.1.1', 0, 'c'],
  ['behind one proxy, what it wrote last is', 'p', '9.9.9.9, 1.1.1.1', 1, '1.1.1.1'],
  ['behind two proxies, what the outer one wrote is', 'p', '9.9.9.9, 1.1.1.1, 2.2.2.2', 2, '1.1.1.1'],
  ['a header that is too short is taken as it is', 'p', '1.1.1.1', 2, '1.1.1.1'],
  ['a proxy that writes nothing is the client', 'p', undefined, 1, 'p'],
])('%s', (_, connection, header, proxies, expected) => {
  expect(clientAddress(connection, header, proxies)).toBe(expected)
})
