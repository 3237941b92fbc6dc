import { fromSqlError, StarflowError } from '@starflow/errors'
import { type Arguments, type ProjectAccess, RestApi } from './rest-api.ts'

/** The functions of the schema `starflow`, over REST: one call, one transaction. */
export class StateFunctions {
  readonly #api: RestApi

  constructor(access: ProjectAccess) {
    this.#api = new RestApi(access)
  }

  /** The value that the function returns; null for nothing. */
  async value<T>(name: string, args: Arguments): Promise<T> {
    const call = { name, args, origin: this.#api.origin }
    const { status, text } = await this.#api.call(name, args).catch((cause: Error) => {
      throw refusalOf(call, { code: '', message: cause.message }, 0)
    })
    if (status >= 300) throw refusalOf(call, answerError(text), status)
    return (text === '' ? null : JSON.parse(text)) as T
  }

  /** The rows that the function returns. */
  async rows<TRow>(name: string, args: Arguments): Promise<readonly TRow[]> {
    return await this.value<readonly TRow[]>(name, args)
  }

  /** Ends calls under way too. */
  close(): void {
    this.#api.close()
  }
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

/** PostgREST says why in JSON; what stands before it may say it in HTML, which is not for reading. */
function answerError(text: string): AnswerError {
  try {
    const { code, message, ...rest } = JSON.parse(text) as Partial<AnswerError>
    return { ...rest, code: code ?? '', message: message ?? '' }
  } catch {
    return { code: '', message: 'The answer is not JSON.' }
  }
}

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
