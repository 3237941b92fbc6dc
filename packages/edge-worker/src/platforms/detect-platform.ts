import { StarflowError } from '@starflow/errors'
import type { Platform } from '../platform.ts'
import { denoGlobals } from './deno-globals.ts'
import { denoPlatform } from './deno-platform.ts'
import { nodeProcess } from './node-globals.ts'
import { nodePlatform } from './node-platform.ts'
import { supabaseEdgePlatform } from './supabase-edge-platform.ts'

/** The platform of this process, told by its globals. */
export function detectPlatform(): Platform {
  if (denoGlobals.EdgeRuntime !== undefined && denoGlobals.Deno !== undefined) return supabaseEdgePlatform()
  if (denoGlobals.Deno !== undefined) return denoPlatform()
  // After Deno, which has a process of this shape too.
  const { node } = nodeProcess?.versions ?? {}
  if (node !== undefined) return nodePlatform(nodeProcess)
  throw new StarflowError({
    code: 'SF401',
    message: 'EdgeWorker does not know this platform.',
    detail: 'It runs in Supabase Edge Functions, Deno, Node and Bun.',
    hint: 'Start this module in one of them.',
  })
}
