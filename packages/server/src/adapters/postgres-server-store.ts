import type { ApiTokenRecord, NewApiToken, ServerStore, StoredApiToken } from '../store/server-store.ts'
import { type SqlFunctions, scalar } from './sql-functions.ts'

interface TokenRow {
  readonly token_id: string
  readonly workspace_id: string
  readonly name: string
  readonly secret_hash: string
  readonly created_at: string
  readonly revoked_at: string | null
}

/** The store in Postgres: each method is one call of one SQL function, over whichever way leads there. */
export class PostgresServerStore implements ServerStore {
  readonly #call: SqlFunctions

  constructor(call: SqlFunctions) {
    this.#call = call
  }

  async databaseId(): Promise<string> {
    return scalar<string>(await this.#call('database_id', {}))
  }

  async createToken(token: NewApiToken): Promise<void> {
    await this.#call('create_api_token', {
      token_id: token.tokenId,
      workspace_id: token.workspaceId,
      name: token.name,
      secret_hash: token.secretHash,
    })
  }

  async findToken(tokenId: string): Promise<StoredApiToken | undefined> {
    const [row] = (await this.#call('find_api_token', { token_id: tokenId })) as TokenRow[]
    return row && { tokenId: row.token_id, workspaceId: row.workspace_id, secretHash: row.secret_hash }
  }

  async listTokens(workspaceId?: string): Promise<readonly ApiTokenRecord[]> {
    const rows = (await this.#call('list_api_tokens', { workspace_id: workspaceId ?? null })) as TokenRow[]
    return rows.map((row) => ({
      tokenId: row.token_id,
      workspaceId: row.workspace_id,
      name: row.name,
      createdAt: new Date(row.created_at).toISOString(),
      revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
    }))
  }

  async revokeToken(tokenId: string): Promise<boolean> {
    return scalar<boolean>(await this.#call('revoke_api_token', { token_id: tokenId }))
  }

  async endSession(sessionId: string, keepForMs: number): Promise<void> {
    await this.#call('end_session', { session_id: sessionId, keep_for_ms: keepForMs })
  }

  async hasSessionEnded(sessionId: string): Promise<boolean> {
    return scalar<boolean>(await this.#call('has_session_ended', { session_id: sessionId }))
  }

  async close(): Promise<void> {}
}
