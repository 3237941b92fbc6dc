import { StarflowError } from '@starflow/errors'
import type { SupabaseClient } from '@supabase/supabase-js'
import type { WorkerEnvironment } from './worker-environment.ts'

/**
 * The service-role client for `ctx.supabase`. Its library is loaded with the first claimed task, not at the cold start,
 * and idle workers never pay for it.
 */
export class LazySupabaseClient {
  readonly #environment: Pick<WorkerEnvironment, 'supabaseUrl' | 'serviceRoleKey'>
  readonly #load: () => Promise<Pick<typeof import('@supabase/supabase-js'), 'createClient'>>
  #library: Pick<typeof import('@supabase/supabase-js'), 'createClient'> | undefined
  #loading: Promise<void> | undefined
  #failure: unknown
  #client: SupabaseClient | undefined

  constructor(
    environment: Pick<WorkerEnvironment, 'supabaseUrl' | 'serviceRoleKey'>,
    load = () => import('@supabase/supabase-js'),
  ) {
    this.#environment = environment
    this.#load = load
  }

  /** Settles when {@link client} can answer. Never rejects: a handler that needs no Supabase must not fail by it. */
  ready(): Promise<void> | undefined {
    const { supabaseUrl, serviceRoleKey } = this.#environment
    if (this.#library !== undefined || supabaseUrl === undefined || serviceRoleKey === undefined) return undefined
    this.#loading ??= this.#load().then(
      (library) => {
        this.#library = library
      },
      (error) => {
        this.#failure = error
        this.#loading = undefined
      },
    )
    return this.#loading
  }

  /** The client, or one that refuses with the reason when it is used. */
  client(): SupabaseClient {
    const { supabaseUrl, serviceRoleKey } = this.#environment
    if (this.#library === undefined || supabaseUrl === undefined || serviceRoleKey === undefined) {
      return refusedClient(this.#environment, this.#failure)
    }
    this.#client ??= this.#library.createClient(supabaseUrl, serviceRoleKey, {
      // A worker is nobody's session.
      auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
      // Node below 22 has no WebSocket, and the library refuses to be created without: only channels need one.
      ...(typeof WebSocket === 'undefined' ? { realtime: { transport: missingWebSocket } } : {}),
    })
    return this.#client
  }
}

/** Satisfies the library; whoever opens a channel learns what is missing. */
const missingWebSocket = class {
  constructor() {
    throw new Error('This runtime has no WebSocket, which Realtime channels need: use Deno or Node 22.')
  }
} as unknown as typeof WebSocket

function refusedClient(
  { supabaseUrl, serviceRoleKey }: Pick<WorkerEnvironment, 'supabaseUrl' | 'serviceRoleKey'>,
  failure: unknown,
): SupabaseClient {
  const missing = [
    ...(supabaseUrl === undefined ? ['SUPABASE_URL'] : []),
    ...(serviceRoleKey === undefined ? ['SUPABASE_SERVICE_ROLE_KEY'] : []),
  ]
  const refuse = (): never => {
    throw new StarflowError({
      code: 'SF409',
      message:
        missing.length > 0
          ? `ctx.supabase needs ${missing.join(' and ')}.`
          : 'ctx.supabase is not there: @supabase/supabase-js could not be loaded.',
      detail:
        missing.length > 0
          ? 'The function runs without them; ctx.sql does not need them.'
          : failure instanceof Error
            ? failure.message
            : 'Importing it failed without a reason.',
      hint:
        missing.length > 0
          ? 'Set the missing environment variables of this function.'
          : "Let the function's deno.json resolve @supabase/supabase-js.",
      fields: { missing },
      cause: failure,
    })
  }
  return new Proxy({}, { get: refuse }) as SupabaseClient
}
