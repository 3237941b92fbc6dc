import type { TestDatabase } from '../../../../tests/support/test-database.ts'
import { EngineCalls } from './engine-calls.ts'
import { Actor, type HeldTransaction } from './interleaving.ts'

/** One connection that calls the schema starflow, holds its transaction open or is seen waiting for another's. */
export class EngineActor {
  readonly calls: EngineCalls
  readonly #actor: Actor

  constructor(database: TestDatabase, settings: Record<string, string> = {}) {
    this.#actor = new Actor(database, settings)
    this.calls = new EngineCalls(this.#actor.sql)
  }

  async hold<T>(work: (calls: EngineCalls) => PromiseLike<T>): Promise<HeldTransaction<T>> {
    return await this.#actor.hold((_, sql) => work(new EngineCalls(sql)))
  }

  async waits<T>(work: (calls: EngineCalls) => PromiseLike<T>): Promise<{ readonly end: Promise<T> }> {
    return await this.#actor.waits((_, sql) => work(new EngineCalls(sql)))
  }
}
