import type { ConnectionOptions } from 'node:tls'
import { StarflowError } from '@starflow/errors'

/** Where a database is, by parts. */
export interface DatabaseAddress {
  /** A name, an IP address without brackets, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string | (() => string | Promise<string>)
  readonly database: string
  readonly tls: TlsMode | ConnectionOptions
  /** Between is a transaction pooler, which keeps no prepared statements and no session state. */
  readonly isTransactionPooler: boolean
}

/** Those of libpq's environment variables that stand in for what a URL leaves out. */
export interface DatabaseEnvironment {
  readonly PGHOST?: string | undefined
  readonly PGPORT?: string | undefined
  readonly PGUSER?: string | undefined
  readonly PGPASSWORD?: string | undefined
  readonly PGDATABASE?: string | undefined
  readonly PGSSLMODE?: string | undefined
}

/** As libpq's sslmode, whose `require` encrypts and trusts any certificate. `allow` is `prefer` here. */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'

const TLS_MODES: Readonly<Record<string, TlsMode>> = {
  ...{ disable: 'disable', false: 'disable', allow: 'prefer', prefer: 'prefer', require: 'require', true: 'require' },
  ...{ 'verify-ca': 'verify-ca', 'verify-full': 'verify-full' },
}

const POOLER_PORT = 6543
const SCHEME = /^postgres(?:ql)?:\/\//
/** What stands behind the `@`: an IPv6 address is in brackets, and a database's name has no slash. */
const PLACE =
  /^(?<host>\[[\da-fA-F:.%]+\]|[^@/?#:[\]\s,]*)(?::(?<port>\d{1,5}))?(?:\/(?<database>[^@/?#]*))?(?:\?(?<query>[\w-]+=[^#]*)?)?$/

/**
 * Reads a URL `postgres://user:password@host:5432/database?sslmode=require`. A password may hold reserved characters that are not
 * encoded, except `%`. A pooler is known by its port (6543) or by `pgbouncer=true`; other parameters than `sslmode`, `host` and
 * `pgbouncer` are for other clients and mean nothing here. What is missing is taken from PGHOST and so on, or is as libpq has it.
 *
 * @throws StarflowError SF001, which does not repeat the URL
 */
export function parseDatabaseUrl(url: string, env: DatabaseEnvironment = {}): DatabaseAddress {
  const scheme = SCHEME.exec(url)?.[0]
  if (scheme === undefined) throw invalidUrl('It does not begin with postgres:// or postgresql://.')
  const { login, place } = divide(url.slice(scheme.length))
  const query = new URLSearchParams(place.query)
  const colon = login.indexOf(':')
  const user = decoded(colon === -1 ? login : login.slice(0, colon)) || env.PGUSER || 'postgres'
  const sslMode = query.get('sslmode') ?? query.get('ssl') ?? env.PGSSLMODE ?? 'disable'
  const tls = query.get('sslrootcert') === 'system' ? 'verify-full' : TLS_MODES[sslMode]
  if (tls === undefined) throw invalidUrl(`sslmode is not one of ${Object.keys(TLS_MODES).join(', ')}.`)
  const port = Number(place.port ?? env.PGPORT ?? 5432)
  if (!(port > 0 && port < 65_536)) throw invalidUrl('Its port is not a number from 1 to 65535.')
  return {
    host: (query.get('host') ?? decoded(place.host ?? '').replace(/^\[(.*)\]$/, '$1')) || env.PGHOST || 'localhost',
    port,
    user,
    password: (colon === -1 ? '' : decoded(login.slice(colon + 1))) || env.PGPASSWORD || '',
    database: decoded(place.database ?? '') || env.PGDATABASE || user,
    tls,
    isTransactionPooler: port === POOLER_PORT || query.get('pgbouncer') === 'true',
  }
}

interface Place {
  readonly host?: string
  readonly port?: string
  readonly database?: string
  readonly query?: string
}

/** A password may hold an `@`: the first one counts behind which everything is a place. */
function divide(rest: string): { login: string; place: Place } {
  for (let at = rest.indexOf('@'); at !== -1; at = rest.indexOf('@', at + 1)) {
    const place = PLACE.exec(rest.slice(at + 1))?.groups
    if (place !== undefined) return { login: rest.slice(0, at), place }
  }
  const place = PLACE.exec(rest)?.groups
  if (place === undefined)
    throw invalidUrl('Its host, port, database or parameters cannot be read. Only one host is allowed.')
  return { login: '', place }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw invalidUrl('A percent sign in it does not begin an encoded character: write it as %25.')
  }
}

function invalidUrl(detail: string): StarflowError {
  return new StarflowError({
    code: 'SF001',
    message: 'The database URL is not valid.',
    detail: `${detail} The URL is not repeated here, since it may hold a password.`,
    hint: 'It looks like postgres://user:password@host:5432/database; special characters in the password are percent-encoded.',
  })
}
