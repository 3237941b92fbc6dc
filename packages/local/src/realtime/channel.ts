import type { ApiCaller } from '../access/api-caller.ts'
import type { ChannelAuthorisation } from './channel-authorisation.ts'

/** How a channel was joined, from the `config` of its join. */
export interface ChannelConfig {
  readonly isPrivate: boolean
  /** The sender hears its own broadcasts too. */
  readonly hearsItself: boolean
  /** Each broadcast is answered. */
  readonly acknowledges: boolean
}

/** What `setTimeout` can wait for. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** One topic that one socket has joined, from its join to its end. */
export class Channel {
  readonly topic: string
  readonly joinRef: string | null
  readonly config: ChannelConfig
  readonly #authorisation: ChannelAuthorisation
  readonly #onExpired: () => void
  #caller: ApiCaller
  #maySend: Promise<boolean> | undefined
  #leave: () => void = () => {}
  #expiry: NodeJS.Timeout | undefined

  constructor(options: {
    readonly topic: string
    readonly joinRef: string | null
    readonly config: ChannelConfig
    readonly caller: ApiCaller
    readonly authorisation: ChannelAuthorisation
    /** Called when the token of whoever joined ends. */
    readonly onExpired: () => void
  }) {
    this.topic = options.topic
    this.joinRef = options.joinRef
    this.config = options.config
    this.#caller = options.caller
    this.#authorisation = options.authorisation
    this.#onExpired = options.onExpired
  }

  /** From now on it hears; `leave` undoes that. */
  open(leave: () => void): void {
    this.#leave = leave
    this.#awaitExpiry()
  }

  /** Twice is fine. */
  close(): void {
    clearTimeout(this.#expiry)
    this.#leave()
  }

  async mayListen(caller = this.#caller): Promise<boolean> {
    return !this.config.isPrivate || this.#authorisation.mayListen(caller, this.topic)
  }

  /** Asked once for each token, as on a hosted project: not for each message. */
  async maySend(): Promise<boolean> {
    if (!this.config.isPrivate) return true
    this.#maySend ??= this.#authorisation.maySend(this.#caller, this.topic).catch((error: unknown) => {
      this.#maySend = undefined
      throw error
    })
    return this.#maySend
  }

  /** Goes on under another token. */
  renew(caller: ApiCaller): void {
    this.#caller = caller
    this.#maySend = undefined
    this.#awaitExpiry()
  }

  #awaitExpiry(): void {
    clearTimeout(this.#expiry)
    const { expiresAt } = this.#caller
    if (expiresAt === undefined) return
    const remainingMs = expiresAt - Date.now()
    const isLast = remainingMs <= MAX_TIMEOUT_MS
    const wait = Math.max(0, Math.min(remainingMs, MAX_TIMEOUT_MS))
    this.#expiry = setTimeout(() => (isLast ? this.#onExpired() : this.#awaitExpiry()), wait).unref()
  }
}
