import { fromSqlError, StarflowError } from '@starflow/errors'
import { createClient } from '@supabase/supabase-js'

export interface ProjectAccess {
  readonly supabaseUrl: string
  readonly serviceRoleKey: string
}

/** Named arguments of one function; what is undefined is left to the function's default. */
export type Arguments = Readonly<Record<string, unknown>>

/** The functions of the schema `starflow`, over REST: one call, one transaction. */
export class StateFunctions {
  readonly #call: (name: string, args: Arguments) => PromiseLike<Answer>
  /** Without what a URL may have besides: names and passwords are no part of an error. */
  readonly #origin: string

  constructor({ supabaseUrl, serviceRoleKey }: ProjectAccess) {
    const client = createClient(supabaseUrl, serviceRoleKey, {
      // A server is nobody's session.
      auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
      // Node below 22 has no WebSocket, and the library refuses to be created without. Nothing here opens a channel.
      ...(typeof WebSocket === 'undefined' ? { realtime: { transport: MissingWebSocket } } : {}),
    }).schema('starflow')
    this.#call = (name, args) => client.rpc(name, args)
    this.#origin = new URL(supabaseUrl).origin
  }

  /** The value that the function returns; null for nothing. */
  async value<T>(name: string, args: Arguments): Promise<T> {
    const { data, error, status } = await this.#call(name, args)
    if (error !== null) throw refusalOf({ name, args, origin: this.#origin }, error, status)
    return data as T
  }

  /** The rows that the function returns. */
  async rows<TRow>(name: string, args: Arguments): Promise<readonly TRow[]> {
    return await this.value<readonly TRow[]>(name, args)
  }
}

interface Answer {
  readonly data: unknown
  readonly error: AnswerError | null
  readonly status: number
}

interface AnswerError {
  readonly code: string
  readonly message: string
}

interface Call {
  readonly name: string
  readonly args: Arguments
  readonly origin: string
}

const MissingWebSocket = class {} as unknown as typeof WebSocket

/** One of ours with the run that it is about, or SF803: what else can be wrong is the way to the database. */
function refusalOf({ name, args, origin }: Call, error: AnswerError, status: number): StarflowError {
  const runId = typeof args.run_id === 'string' ? args.run_id : undefined
  const ours = fromSqlError(error)
  if (ours !== undefined) {
    const { code, message, detail, hint, fields } = ours
    return new StarflowError({ code, message, detail, hint, fields: { ...fields, runId }, cause: error })
  }
  // Postgres's own details may repeat a row, so they are not carried on, not even in the cause.
  const { code, message } = error
  return new StarflowError({
    code: 'SF803',
    message: `The call of starflow.${name} on ${origin} failed.`,
    detail:
      status === 0 ? `No answer came: ${message}` : `The answer was ${status}${code ? `, ${code}` : ''}: ${message}`,
    hint: hintFor(code, status),
    fields: { function: name, url: origin, status, sqlState: code, runId },
  })
}

function hintFor(code: string, status: number): string {
  if (code === 'PGRST106')
    return 'Expose the schema: add "starflow" to [api] schemas of config.toml, or to the API settings of the project.'
  if (code === 'PGRST202' || code === '42883') return 'Apply the migrations of this version to the database.'
  if (code === '42501' || status === 401 || status === 403) return 'Use the service role key of the project.'
  if (status === 0) return 'Check the URL of the project, and that it can be reached. The call may be repeated.'
  return 'The call may be repeated; if it fails again, look into the log of the database.'
}
