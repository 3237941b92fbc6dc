/** A worker among those that live in one isolate or process. */
export interface Cohabitant {
  /** Holds tasks, or is claiming some. */
  readonly isBusy: () => boolean
  /** Looks again at what it may do. */
  readonly wake: () => void
}

/**
 * Lets one worker of an isolate or process have it for itself: what crashes then names its cause, and takes nothing with it. While one
 * asks, the others claim nothing; it has it once they hold nothing.
 */
export class Solitude {
  readonly #cohabitants = new Set<Cohabitant>()
  #asking: Cohabitant | undefined

  join(worker: Cohabitant): void {
    this.#cohabitants.add(worker)
  }

  leave(worker: Cohabitant): void {
    this.#cohabitants.delete(worker)
    this.end(worker)
  }

  /** Whether another worker has it or asks for it. */
  isOfAnother(worker: Cohabitant): boolean {
    return this.#asking !== undefined && this.#asking !== worker
  }

  /** Asks for it; answers whether it is there. If not, the worker is woken to ask again. */
  begin(worker: Cohabitant): boolean {
    this.#asking ??= worker
    if (this.#asking !== worker) return false
    return [...this.#cohabitants].every((other) => other === worker || !other.isBusy())
  }

  /** Gives it back; again is fine. */
  end(worker: Cohabitant): void {
    if (this.#asking !== worker) return
    this.#asking = undefined
    for (const other of this.#cohabitants) if (other !== worker) other.wake()
  }

  /** A worker may hold nothing any more. */
  hasChanged(): void {
    this.#asking?.wake()
  }
}
