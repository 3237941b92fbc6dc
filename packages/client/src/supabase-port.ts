/**
 * What of supabase-js is used. A `SupabaseClient` of any version 2 and with any generated types is one; nothing of
 * supabase-js is imported.
 */
export interface SupabasePort {
  /** A {@link SchemaPort}. The types that an application generated for its own schemas need not know ours. */
  schema(name: string): object
  channel(topic: string, options: { config: { private: boolean } }): ChannelPort
  removeChannel(channel: ChannelPort): PromiseLike<unknown>
  readonly realtime: RealtimePort
}

/** The functions of a schema. */
export interface SchemaPort {
  rpc(name: string, parameters: object): PromiseLike<RpcAnswer>
}

/** What PostgREST answered. */
export interface RpcAnswer {
  readonly data: unknown
  readonly error: unknown
}

export interface RealtimePort {
  /** Without an argument: takes the token of whoever is signed in now. */
  setAuth(): PromiseLike<void>
  /** What channels are joined with. */
  readonly accessTokenValue: string | null
  /** Whether it was given by hand, by the application or by supabase-js itself: then it is kept until it is replaced. */
  _isManualToken?(): boolean
}

export interface ChannelPort {
  on(type: 'broadcast', filter: { event: string }, callback: (message: { payload?: unknown }) => void): ChannelPort
  subscribe(callback: (status: string, error?: Error) => void): ChannelPort
}
