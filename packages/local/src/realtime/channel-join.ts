import type { ChannelConfig } from './channel.ts'

/** What a join asks for. */
export interface ChannelJoin {
  readonly config: ChannelConfig
  readonly accessToken: string | undefined
}

/** The payload of `phx_join`, or what it asks for and does not get. */
export function parseJoin(payload: Readonly<Record<string, unknown>>): ChannelJoin | { readonly problem: string } {
  const config = recordOf(payload.config)
  const broadcast = recordOf(config.broadcast)
  const problem = notServed(config, broadcast)
  if (problem !== undefined) return { problem }
  return {
    config: {
      isPrivate: config.private === true,
      hearsItself: broadcast.self === true,
      acknowledges: broadcast.ack === true,
    },
    accessToken: typeof payload.access_token === 'string' ? payload.access_token : undefined,
  }
}

/** A channel that silently heard nothing would be worse than one that cannot be joined. */
function notServed(config: Record<string, unknown>, broadcast: Record<string, unknown>): string | undefined {
  if (Array.isArray(config.postgres_changes) && config.postgres_changes.length > 0) {
    return 'PostgresChangesNotServed: the local platform does not serve postgres_changes. Broadcast from a trigger instead, with realtime.broadcast_changes or realtime.send.'
  }
  if (recordOf(config.presence).enabled === true) {
    return 'PresenceNotServed: the local platform does not serve presence.'
  }
  if (broadcast.replay !== undefined && broadcast.replay !== null) {
    return 'ReplayNotServed: the local platform does not replay broadcasts. Read realtime.messages instead.'
  }
  return undefined
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
