import type { Sql, TransactionSql } from 'postgres'
import type { ApiCaller } from '../access/api-caller.ts'

/** So that a policy that waits for something does not hold up a join for ever. */
const POLICY_TIMEOUT_MS = 5_000

/**
 * What a caller may do in a private channel. The policies of `realtime.messages` decide, as on a hosted project: who may
 * select a message of the topic may listen, who may insert one may send. Both are tried out, and rolled back.
 */
export class ChannelAuthorisation {
  readonly #sql: Sql

  /** As the superuser, who may write the message that the caller tries to see. */
  constructor(sql: Sql) {
    this.#sql = sql
  }

  async mayListen(caller: ApiCaller, topic: string): Promise<boolean> {
    return this.#tryOut(async (transaction) => {
      const [message] = await transaction<[{ id: string }]>`
        insert into realtime.messages (topic, extension, private) values (${topic}, 'broadcast', true) returning id`
      await become(transaction, caller, topic)
      const seen = await transaction`select from realtime.messages where id = ${message.id}`
      return seen.length === 1
    })
  }

  async maySend(caller: ApiCaller, topic: string): Promise<boolean> {
    return this.#tryOut(async (transaction) => {
      await become(transaction, caller, topic)
      await transaction`
        insert into realtime.messages (topic, extension, private) values (${topic}, 'broadcast', true)`
      return true
    })
  }

  /** What Postgres refuses is not allowed. Throws where it cannot be asked. */
  async #tryOut(attempt: (transaction: TransactionSql) => Promise<boolean>): Promise<boolean> {
    let isAllowed = false
    const rollback = new Error('roll back')
    try {
      await this.#sql.begin(async (transaction) => {
        isAllowed = await attempt(transaction)
        throw rollback
      })
    } catch (error) {
      if (error === rollback) return isAllowed
      if (isSqlRefusal(error)) return false
      throw error
    }
    return false
  }
}

/** The roles are those that the API may become, and no other, whoever signed the token. */
async function become(transaction: TransactionSql, { role, claims }: ApiCaller, topic: string): Promise<void> {
  const [api] = await transaction<[{ knows: boolean }]>`
    select coalesce(pg_has_role('authenticator', oid, 'member') and not rolsuper, false) as knows
    from pg_roles where rolname = ${role}`
  if (api?.knows !== true) throw Object.assign(new Error('not a role of the API'), { code: '42501' })
  await transaction`
    select set_config('role', ${role}, true), set_config('request.jwt.claims', ${JSON.stringify(claims)}, true),
      set_config('realtime.topic', ${topic}, true), set_config('statement_timeout', ${`${POLICY_TIMEOUT_MS}`}, true)`
}

function isSqlRefusal(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  // 08 and 57P: the connection ended or is being ended.
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P)/.test(code)
}
