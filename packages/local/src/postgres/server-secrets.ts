import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

/** The roles that may log in. */
export type LoginRole = 'supabase_admin' | 'postgres' | 'authenticator'

/** Passwords of one data folder. They never leave its 0600 file except into connection URLs. */
export type ServerSecrets = Readonly<Record<LoginRole, string>>

const SECRETS_FILE = 'starflow-secrets.json'
/** The key of `vault`: beside the database, so that neither a dump nor a clone carries it. Read by the server itself. */
const VAULT_KEY_FILE = 'starflow-vault.key'

export function newServerSecrets(): ServerSecrets {
  const password = () => randomBytes(24).toString('base64url')
  return { supabase_admin: password(), postgres: password(), authenticator: password() }
}

/** Puts the secrets into a data folder. Returns the file that the server's own user has to read. */
export function writeServerSecrets(dataFolder: string, secrets: ServerSecrets): string {
  fs.writeFileSync(path.join(dataFolder, SECRETS_FILE), JSON.stringify(secrets), { mode: 0o600, flag: 'wx' })
  const vaultKey = path.join(dataFolder, VAULT_KEY_FILE)
  fs.writeFileSync(vaultKey, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' })
  return vaultKey
}

export function readServerSecrets(dataFolder: string): ServerSecrets {
  return JSON.parse(fs.readFileSync(path.join(dataFolder, SECRETS_FILE), 'utf8')) as ServerSecrets
}

export function hasServerSecrets(dataFolder: string): boolean {
  return fs.existsSync(path.join(dataFolder, SECRETS_FILE))
}

/**
 * What Postgres stores for a password (RFC 5802). `alter role … password` is given this instead of the password, so that
 * no statement that reaches the server's log can tell it.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const iterations = 4096
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const sign = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(sign('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${sign('Server Key').toString('base64')}`
}
