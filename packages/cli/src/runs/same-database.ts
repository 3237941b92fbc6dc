import type { TwoWays } from '@starflow/engine/adapters/supabase'

const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * Looks whether the API and the connection lead to one database. A role that is confined need not be allowed to ask, and then
 * nobody can tell: it is taken as it is.
 *
 * @throws StarflowError SF913 where they do not; and what the connection fails with
 */
export async function checkSameDatabase(ways: TwoWays): Promise<void> {
  const { requireSameDatabase } = await import('@starflow/engine/adapters/supabase')
  try {
    await requireSameDatabase(ways)
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error
  }
}
