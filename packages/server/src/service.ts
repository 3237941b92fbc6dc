/**
 * Something that goes on in the background: a claim loop, a sweep, a schedule, a drainer. Starting twice, stopping twice and
 * stopping before the start are fine. `stop` settles when nothing of it runs any longer.
 */
export interface Service {
  readonly name: string
  start(): void | Promise<void>
  stop(): Promise<void>
}

/** Services that start in order and stop in the opposite one. When one does not start, those before it are stopped again. */
export class ServiceGroup {
  readonly #services: readonly Service[]
  readonly #onStopFailed: (name: string, error: unknown) => void

  constructor(services: readonly Service[], onStopFailed: (name: string, error: unknown) => void) {
    this.#services = services
    this.#onStopFailed = onStopFailed
  }

  async start(): Promise<void> {
    for (const service of this.#services) {
      try {
        await service.start()
      } catch (error) {
        await this.stop()
        throw error
      }
    }
  }

  /** One that fails to stop keeps no other from stopping. */
  async stop(): Promise<void> {
    for (const service of [...this.#services].reverse()) {
      await service.stop().catch((error: unknown) => this.#onStopFailed(service.name, error))
    }
  }
}
