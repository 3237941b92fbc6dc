export { PostgresMirrorSource } from './postgres-mirror-source.ts'
export { PostgresWarmTier } from './postgres-warm-tier.ts'
export { requireSameDatabase, type TwoWays } from './require-same-database.ts'
export { type SupabaseStateOptions, SupabaseWorkflowStateAdapter } from './supabase-state-adapter.ts'
