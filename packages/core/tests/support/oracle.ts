import type { Sql } from 'postgres'
import { expect } from 'vitest'
import { brokenInvariants, type InvariantOptions } from '../../../../tests/support/invariants.ts'

/** Fails with the first of the invariants that is broken, and names what breaks it. */
export async function expectAllWell(sql: Sql, options: InvariantOptions = {}): Promise<void> {
  for (const { invariant, offenders } of await brokenInvariants(sql, options)) {
    expect(offenders, invariant).toEqual([])
  }
}
