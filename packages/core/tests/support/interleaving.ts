import type { ReservedSql, Sql } from 'postgres'
import type { TestDatabase } from '../../../../tests/support/test-database.ts'
import { StarflowSql } from '../../src/index.ts'
import { untilBlocked } from './blocked.ts'

let count = 0

/** One connection under a name of its own, so that it can be seen waiting. */
export class Actor {
  readonly sql: Sql
  readonly core: StarflowSql
  readonly name: string
  readonly #watcher: Sql

  constructor(database: TestDatabase, settings: Record<string, string> = {}) {
    this.name = `actor ${++count}`
    this.sql = database.connect({ settings: { application_name: this.name, ...settings } })
    this.core = new StarflowSql(this.sql)
    this.#watcher = database.sql
  }

  /** Does something in a transaction that stays open, with its locks, until `commit` or `rollback`. */
  async hold<T>(work: (core: StarflowSql, sql: Sql) => PromiseLike<T>): Promise<HeldTransaction<T>> {
    const connection = await this.sql.reserve()
    await connection`begin`
    const result = await work(new StarflowSql(connection), connection)
    const end = async (connection: ReservedSql, statement: 'commit' | 'rollback') => {
      await connection.unsafe(statement)
      connection.release()
    }
    return {
      result,
      commit: () => end(connection, 'commit'),
      rollback: () => end(connection, 'rollback'),
    }
  }

  /** Starts something that must come to wait for a lock, and returns when it does. */
  async waits<T>(work: (core: StarflowSql, sql: Sql) => PromiseLike<T>): Promise<{ readonly end: Promise<T> }> {
    const end = Promise.resolve(work(this.core, this.sql))
    // The error, if it is one, belongs to whoever awaits the end.
    end.catch(() => {})
    await untilBlocked(this.#watcher, this.name)
    return { end }
  }
}

export interface HeldTransaction<T> {
  readonly result: T
  commit(): Promise<void>
  rollback(): Promise<void>
}

/**
 * A gate inside pgmq.read: a connection of that name stops after it has locked a message of the queue, before anything else,
 * until the gate opens. What happens between a claim's read and its next statement can so be chosen.
 */
export async function closeGate(database: TestDatabase, queueName: string, actor: Actor): Promise<() => Promise<void>> {
  const keeper = await database.connect().reserve()
  const key = ++count
  await keeper`select pg_advisory_lock(${key})`
  await database.sql.unsafe(`
    create or replace function pgflow.gate_${key}() returns trigger language plpgsql set lock_timeout = 0 as $$
    begin
      if current_setting('application_name') = '${actor.name}' then
        perform pg_advisory_xact_lock_shared(${key});
      end if;
      return new;
    end $$;
    create trigger gate before update on pgmq.q_${queueName} for each row execute function pgflow.gate_${key}()`)
  return async () => {
    await keeper`select pg_advisory_unlock(${key})`
    keeper.release()
  }
}
