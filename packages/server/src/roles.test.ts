import { expect, it } from 'vitest'
import { ROLES } from './roles.ts'

it.each([
  ['edge', { http: 'full', webhooks: true, cron: true, claimLoop: false }],
  ['runner', { http: 'health', webhooks: false, cron: false, claimLoop: true }],
  ['both', { http: 'full', webhooks: true, cron: true, claimLoop: true }],
] as const)('the role %s serves and does what its row says', (role, traits) => {
  expect(ROLES[role]).toEqual(traits)
})

it('there is no role but these', () => {
  expect(Object.keys(ROLES)).toEqual(['edge', 'runner', 'both'])
})
