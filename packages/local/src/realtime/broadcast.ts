/** A message to all that have joined a topic. */
export interface Broadcast {
  readonly topic: string
  /** Public and private channels of one topic never hear each other. */
  readonly isPrivate: boolean
  readonly event: string
  readonly payload: BroadcastPayload
  /** Of its row, where it came from the database. */
  readonly id?: string | undefined
}

/** JSON as it was written, or bytes. */
export type BroadcastPayload = { readonly json: string } | { readonly bytes: Uint8Array }

/** Bytes that a broadcast has at most, as on a paid hosted project. */
export const MAX_BROADCAST_BYTES = 3 * 1024 * 1024
