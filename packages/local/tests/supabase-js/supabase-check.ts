import { createClient, type SupabaseClient } from '@supabase/supabase-js'

/** A running platform with the fixture, as a check sees it: in Node or in Deno. */
export interface CheckContext {
  readonly url: string
  readonly anonKey: string
  readonly serviceRoleKey: string
  readonly publishableKey: string
  readonly secretKey: string
  /** Of the user `userId`, in the role authenticated. */
  readonly userToken: string
  readonly userId: string
  /** Of somebody else. */
  readonly otherToken: string
  /** Runs SQL as `postgres`. */
  readonly sql: (text: string) => Promise<readonly Record<string, unknown>[]>
  /** The web socket of a runtime that has none of its own. */
  readonly transport?: unknown
}

/** One claim about supabase-js and the platform. It throws where the claim does not hold. */
export interface SupabaseCheck {
  readonly title: string
  readonly run: (context: CheckContext) => Promise<void>
}

/** A client with a key, and for a user with a token too. */
export function clientOf(
  { url, transport }: CheckContext,
  key: string,
  token?: string,
  vsn?: '1.0.0' | '2.0.0',
): SupabaseClient {
  return createClient(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: {
      ...(transport === undefined ? {} : { transport: transport as never }),
      ...(vsn === undefined ? {} : { vsn }),
    },
    ...(token === undefined ? {} : { accessToken: async () => token }),
  })
}

/** A name that no other check uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${crypto.randomUUID()}`
}
