import type { IncomingMessage, ServerResponse } from 'node:http'
import { ANONYMOUS_ROLE, type ApiCaller, identifyRequest } from '../access/api-caller.ts'
import type { ApiKeys } from '../access/api-keys.ts'
import { refusalOf } from '../access/refusal.ts'
import { answersPreflight } from '../http/cors.ts'
import type { GatewayService } from '../http/gateway-service.ts'
import { readBody } from '../http/read-body.ts'
import { sendJson } from '../http/send-json.ts'
import { urlOf } from '../http/url-of.ts'
import { type ApiSettings, DEFAULT_API_SETTINGS } from './api-settings.ts'
import { callFunction } from './function-call.ts'
import type { RestAnswer } from './rest-answer.ts'
import { RestError, toRestError } from './rest-error.ts'
import { parseRestRequest, type RestRequest } from './rest-request.ts'
import { RoleTransactions } from './role-transactions.ts'
import { readTable } from './table-read.ts'
import { writeTable } from './table-write.ts'

export interface RestServiceOptions {
  /** The database as `authenticator`. */
  readonly databaseUrl: string
  readonly keys: ApiKeys
  /** What config.toml says about the API. */
  readonly settings?: ApiSettings
}

/** Bytes that the body of a request has at most. */
export const MAX_REST_BODY_BYTES = 10 * 1024 * 1024

/** `/rest/v1`: tables and functions of the exposed schemas over HTTP, as PostgREST serves them. See README.md. */
export class RestService implements GatewayService {
  readonly prefix = '/rest/v1'
  readonly #keys: ApiKeys
  readonly #settings: ApiSettings
  readonly #transactions: RoleTransactions

  constructor({ databaseUrl, keys, settings = DEFAULT_API_SETTINGS }: RestServiceOptions) {
    this.#keys = keys
    this.#settings = settings
    this.#transactions = new RoleTransactions(databaseUrl)
  }

  /** Breaks off what runs, and settles when no connection to the database is open. */
  async stop(): Promise<void> {
    await this.#transactions.stop()
  }

  async handle(incoming: IncomingMessage, outgoing: ServerResponse, rest: string): Promise<void> {
    if (answersPreflight(incoming, outgoing)) return
    const url = urlOf(rest)
    const identity = identifyRequest(incoming.headers, url.searchParams.get('apikey'), this.#keys, Date.now())
    if ('problem' in identity) {
      const { status, body } = refusalOf(identity.problem)
      outgoing.setHeader('www-authenticate', 'Bearer')
      return sendJson(outgoing, status, body)
    }
    try {
      const { status, headers, body } = await this.#answer(incoming, url, identity.caller)
      outgoing.writeHead(status, headers).end(body)
    } catch (error) {
      const answer = toRestError(error, identity.caller.role === ANONYMOUS_ROLE)
      sendJson(outgoing, answer.status, answer)
    }
  }

  async #answer(incoming: IncomingMessage, url: URL, caller: ApiCaller): Promise<RestAnswer> {
    const request = parseRestRequest(incoming, url, this.#settings)
    const body = await readBody(incoming, MAX_REST_BODY_BYTES)
    if (body === undefined) throw bodyTooLarge()
    const context = {
      caller,
      searchPath: [request.schema, ...this.#settings.extraSearchPath],
      isReadOnly: request.method === 'GET' || request.method === 'HEAD',
      method: request.method,
      path: request.path,
      headers: request.headers,
    }
    return this.#transactions.run(context, (client) => {
      return this.#work(client, request, body.toString())
    })
  }

  #work(client: Parameters<typeof readTable>[0], request: RestRequest, body: string): Promise<RestAnswer> {
    const { maxRows } = this.#settings
    if (request.target.kind === 'function') return callFunction(client, request, body, maxRows)
    if (request.method === 'GET' || request.method === 'HEAD') return readTable(client, request, maxRows)
    return writeTable(client, request, body)
  }
}

function bodyTooLarge(): RestError {
  return new RestError({
    status: 413,
    code: 'PGRST102',
    message: 'The body of the request is too large',
    details: `It may have ${MAX_REST_BODY_BYTES} bytes.`,
  })
}
