/** What the server keeps beside runs: which database this is, and who may ask. */
export interface ServerStore {
  /** The same for every process on this database, and for no other database. */
  databaseId(): Promise<string>
  createToken(token: NewApiToken): Promise<void>
  /** Undefined when there is none, or it was revoked. */
  findToken(tokenId: string): Promise<StoredApiToken | undefined>
  /** Of one workspace, or all; revoked ones too. */
  listTokens(workspaceId?: string): Promise<readonly ApiTokenRecord[]>
  /** False when there is none of this id. Again: true, and no effect. */
  revokeToken(tokenId: string): Promise<boolean>
  /** Keeps that a sign-in was signed out of, for as long as its cookie could be good. Again: no effect. */
  endSession(sessionId: string, keepForMs: number): Promise<void>
  hasSessionEnded(sessionId: string): Promise<boolean>
  close(): Promise<void>
}

export interface NewApiToken {
  readonly tokenId: string
  readonly workspaceId: string
  /** What it is for, in the words of whoever made it. */
  readonly name: string
  /** SHA-256 of the secret, in hex. */
  readonly secretHash: string
}

export interface StoredApiToken {
  readonly tokenId: string
  readonly workspaceId: string
  readonly secretHash: string
}

/** A token as it is shown: without what it is checked by. */
export interface ApiTokenRecord {
  readonly tokenId: string
  readonly workspaceId: string
  readonly name: string
  readonly createdAt: string
  readonly revokedAt: string | null
}
