import { randomUUID } from 'node:crypto'
import Database from 'libsql'
import { SQLITE_BUSY_TIMEOUT_MS } from '../numbers.ts'
import type { ApiTokenRecord, NewApiToken, ServerStore, StoredApiToken } from '../store/server-store.ts'

/** As the tables of band 75_server; instants are milliseconds since 1970. */
const TABLES = `
create table if not exists database_identity (
  is_only integer not null primary key check (is_only = 1),
  database_id text not null
) strict;
create table if not exists api_tokens (
  token_id text not null primary key,
  workspace_id text not null,
  name text not null,
  secret_hash text not null,
  created_at integer not null,
  revoked_at integer
) strict;
create index if not exists api_tokens_workspace_idx on api_tokens (workspace_id, created_at);
create table if not exists ended_sessions (
  session_id text not null primary key,
  kept_until integer not null
) strict;
`

interface TokenRow {
  readonly token_id: string
  readonly workspace_id: string
  readonly name: string
  readonly secret_hash: string
  readonly created_at: number
  readonly revoked_at: number | null
}

/**
 * The store in the state file of a local installation, beside the runs. The file must be one already: whoever opens it first
 * is the state adapter, which marks it as its own.
 */
export class SqliteServerStore implements ServerStore {
  readonly #database: Database.Database

  constructor(path: string) {
    this.#database = new Database(path, { timeout: SQLITE_BUSY_TIMEOUT_MS })
    this.#database.exec(TABLES)
    this.#database
      .prepare('insert into database_identity (is_only, database_id) values (1, ?) on conflict do nothing')
      .run(randomUUID())
  }

  async databaseId(): Promise<string> {
    const row = this.#database.prepare('select database_id from database_identity').get() as { database_id: string }
    return row.database_id
  }

  async createToken(token: NewApiToken): Promise<void> {
    this.#database
      .prepare('insert into api_tokens (token_id, workspace_id, name, secret_hash, created_at) values (?, ?, ?, ?, ?)')
      .run(token.tokenId, token.workspaceId, token.name, token.secretHash, Date.now())
  }

  async findToken(tokenId: string): Promise<StoredApiToken | undefined> {
    const row = this.#database
      .prepare('select * from api_tokens where token_id = ? and revoked_at is null')
      .get(tokenId) as TokenRow | undefined
    return row && { tokenId: row.token_id, workspaceId: row.workspace_id, secretHash: row.secret_hash }
  }

  async listTokens(workspaceId?: string): Promise<readonly ApiTokenRecord[]> {
    const rows = this.#database
      .prepare(
        `select * from api_tokens where :workspaceId is null or workspace_id = :workspaceId
         order by workspace_id, created_at, token_id`,
      )
      // By name: null as the only positional parameter would be taken for an object of named ones.
      .all({ workspaceId: workspaceId ?? null }) as TokenRow[]
    return rows.map((row) => ({
      tokenId: row.token_id,
      workspaceId: row.workspace_id,
      name: row.name,
      createdAt: new Date(row.created_at).toISOString(),
      revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
    }))
  }

  async revokeToken(tokenId: string): Promise<boolean> {
    const { changes } = this.#database
      .prepare('update api_tokens set revoked_at = coalesce(revoked_at, ?) where token_id = ?')
      .run(Date.now(), tokenId)
    return changes > 0
  }

  async endSession(sessionId: string, keepForMs: number): Promise<void> {
    this.#database.prepare('delete from ended_sessions where kept_until < ?').run(Date.now())
    this.#database
      .prepare('insert into ended_sessions (session_id, kept_until) values (?, ?) on conflict do nothing')
      .run(sessionId, Date.now() + keepForMs)
  }

  async hasSessionEnded(sessionId: string): Promise<boolean> {
    return this.#database.prepare('select 1 from ended_sessions where session_id = ?').get(sessionId) !== undefined
  }

  async close(): Promise<void> {
    this.#database.close()
  }
}
