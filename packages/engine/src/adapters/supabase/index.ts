export { type SupabaseStateOptions, SupabaseWorkflowStateAdapter } from './supabase-state-adapter.ts'
