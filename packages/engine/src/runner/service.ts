/**
 * Something that goes on in the background. It may be stopped without having been started, and twice; it is started once.
 */
export interface Service {
  start(): void
  /** Settles when nothing of it goes on any more. */
  stop(): Promise<void>
}
