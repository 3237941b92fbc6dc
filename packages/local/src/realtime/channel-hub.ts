import type { Broadcast } from './broadcast.ts'
import { encodeBroadcast, type ProtocolVersion } from './phoenix-message.ts'

/** One that has joined a topic. */
export interface Subscriber {
  readonly version: ProtocolVersion
  deliver(frame: string | Buffer): void
}

/** Who has joined which topic. */
export class ChannelHub {
  readonly #subscribers = new Map<string, Set<Subscriber>>()

  /** True while nobody has joined anything. */
  get isEmpty(): boolean {
    return this.#subscribers.size === 0
  }

  /** How many have joined, all topics together. */
  get subscriberCount(): number {
    return [...this.#subscribers.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Gives what ends it; twice is fine. */
  join(topic: string, isPrivate: boolean, subscriber: Subscriber): () => void {
    const key = keyOf(topic, isPrivate)
    const joined = this.#subscribers.get(key) ?? new Set()
    this.#subscribers.set(key, joined.add(subscriber))
    return () => {
      joined.delete(subscriber)
      if (joined.size === 0 && this.#subscribers.get(key) === joined) this.#subscribers.delete(key)
    }
  }

  /** To all of its channel, `except` one: who sent it and does not want it back. */
  broadcast(broadcast: Broadcast, except?: Subscriber): void {
    const frames = new Map<ProtocolVersion, string | Buffer | undefined>()
    for (const subscriber of this.#subscribers.get(keyOf(broadcast.topic, broadcast.isPrivate)) ?? []) {
      if (subscriber === except) continue
      const { version } = subscriber
      if (!frames.has(version)) frames.set(version, encodeBroadcast(version, broadcast))
      const frame = frames.get(version)
      if (frame !== undefined) subscriber.deliver(frame)
    }
  }
}

function keyOf(topic: string, isPrivate: boolean): string {
  return `${isPrivate ? 'private' : 'public'}:${topic}`
}
