import type { PoolClient } from 'pg'
import type { ApiCaller } from '../access/api-caller.ts'
import { isSqlError, type TransactionPool } from '../database/transaction-pool.ts'

/** So that a policy that waits for something does not hold up a join for ever. */
const POLICY_TIMEOUT_MS = 5_000

/**
 * What a caller may do in a private channel. The policies of `realtime.messages` decide, as on a hosted project: who may
 * select a message of the topic may listen, who may insert one may send. Both are tried out, and rolled back.
 */
export class ChannelAuthorisation {
  readonly #transactions: TransactionPool

  /** As the superuser, who may write the message that the caller tries to see. */
  constructor(transactions: TransactionPool) {
    this.#transactions = transactions
  }

  mayListen(caller: ApiCaller, topic: string): Promise<boolean> {
    return this.#tryOut(async (client) => {
      const { rows } = await client.query<{ id: string }>(`${INSERT_MESSAGE} returning id`, [topic])
      if (!(await become(client, caller, topic))) return false
      const seen = await client.query('select from realtime.messages where id = $1', [rows[0]?.id])
      return seen.rowCount === 1
    })
  }

  maySend(caller: ApiCaller, topic: string): Promise<boolean> {
    return this.#tryOut(async (client) => {
      if (!(await become(client, caller, topic))) return false
      await client.query(INSERT_MESSAGE, [topic])
      return true
    })
  }

  /** What Postgres refuses is not allowed. Throws where it cannot be asked. */
  async #tryOut(attempt: (client: PoolClient) => Promise<boolean>): Promise<boolean> {
    try {
      return await this.#transactions.run(attempt, { end: 'rollback' })
    } catch (error) {
      // 08 and 57P: the connection ended or is being ended.
      if (isSqlError(error) && !/^(08|57P)/.test(error.code)) return false
      throw error
    }
  }
}

const INSERT_MESSAGE = `insert into realtime.messages (topic, extension, private) values ($1, 'broadcast', true)`

/** False for a role that is none of the API's: the token may be signed by whomever, such a role is above all policies. */
async function become(client: PoolClient, { role, claims }: ApiCaller, topic: string): Promise<boolean> {
  const { rows } = await client.query<{ isOfApi: boolean }>(
    `select pg_has_role('authenticator', oid, 'member') as "isOfApi" from pg_roles where rolname = $1`,
    [role],
  )
  if (rows[0]?.isOfApi !== true) return false
  await client.query(
    `select set_config('request.jwt.claims', $2, true), set_config('realtime.topic', $3, true),
       set_config('statement_timeout', $4, true), set_config('role', $1, true)`,
    [role, JSON.stringify(claims), topic, String(POLICY_TIMEOUT_MS)],
  )
  return true
}
