import { StarflowError } from '@starflow/errors'
import type { Platform } from '../platform.ts'
import { denoGlobals } from './deno-globals.ts'
import { denoPlatform } from './deno-platform.ts'
import { supabaseEdgePlatform } from './supabase-edge-platform.ts'

/** The platform of this process, told by its globals. */
export function detectPlatform(): Platform {
  if (denoGlobals.EdgeRuntime !== undefined && denoGlobals.Deno !== undefined) return supabaseEdgePlatform()
  if (denoGlobals.Deno !== undefined) return denoPlatform()
  throw new StarflowError({
    code: 'SF401',
    message: 'EdgeWorker does not know this platform.',
    detail: 'It runs in Supabase Edge Functions and in Deno.',
    hint: 'Start this module with Deno, or deploy it as an edge function.',
  })
}
