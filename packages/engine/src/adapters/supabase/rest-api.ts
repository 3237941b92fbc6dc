import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { IDLE_CONNECTION_MS, STORE_TIMEOUT_MS } from '../../numbers.ts'

/** The API of a Supabase project, with the right to everything. */
export interface ProjectAccess {
  readonly supabaseUrl: string
  readonly serviceRoleKey: string
  /** A call without its whole answer within this has failed. Default 10 s. */
  readonly timeoutMs?: number | undefined
}

/** Named arguments of one function; what is undefined is left to the function's default. */
export type Arguments = Readonly<Record<string, unknown>>

/** What came back, whatever its status. */
export interface RestAnswer {
  readonly status: number
  readonly text: string
}

/**
 * Calls functions of the schema `starflow` over the REST API of a project. Every call of an engine or a server to that API is
 * made here, so this is the one place that decides how long they wait: a call without an answer in time fails, its connection
 * is closed, and the next call opens a new one. A connection that froze without a word thus costs one call and no more.
 */
export class RestApi {
  /** Without what a URL may have besides: names and passwords stay out of errors. */
  readonly origin: string
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #timeoutMs: number
  readonly #isSecure: boolean
  #agent: HttpAgent

  constructor({ supabaseUrl, serviceRoleKey, timeoutMs = STORE_TIMEOUT_MS }: ProjectAccess) {
    const { origin, protocol } = new URL(supabaseUrl)
    this.origin = origin
    this.#base = `${supabaseUrl.replace(/\/+$/, '')}/rest/v1/rpc/`
    this.#isSecure = protocol === 'https:'
    this.#timeoutMs = timeoutMs
    this.#headers = {
      apikey: serviceRoleKey,
      authorization: `Bearer ${serviceRoleKey}`,
      'content-profile': 'starflow',
      'content-type': 'application/json',
    }
    this.#agent = this.#newAgent()
  }

  /** @throws Error when there is no connection, or no whole answer in time */
  call(name: string, args: Arguments): Promise<RestAnswer> {
    const body = Buffer.from(JSON.stringify(args))
    const headers = { ...this.#headers, 'content-length': body.length }
    const request = this.#isSecure ? httpsRequest : httpRequest
    return new Promise((resolve, reject) => {
      const sent = request(this.#base + name, { method: 'POST', headers, agent: this.#agent })
      const fail = (error: Error) => {
        clearTimeout(timer)
        reject(describe(error))
      }
      const timer = setTimeout(() => {
        fail(new Error(`There was no answer within ${this.#timeoutMs} ms.`))
        this.#closeIdle()
        sent.destroy()
      }, this.#timeoutMs)
      sent.on('error', fail)
      sent.on('response', (response) => {
        read(response).then((text) => {
          clearTimeout(timer)
          resolve({ status: response.statusCode ?? 0, text })
        }, fail)
      })
      sent.end(body)
    })
  }

  /** Ends calls under way too. */
  close(): void {
    this.#agent.destroy()
  }

  #newAgent(): HttpAgent {
    const options = { keepAlive: true, timeout: IDLE_CONNECTION_MS }
    return this.#isSecure ? new HttpsAgent(options) : new HttpAgent(options)
  }

  /** Whatever froze one connection may have frozen those that wait for their next call. Calls under way have their own time. */
  #closeIdle(): void {
    const idle = Object.values(this.#agent.freeSockets) as readonly (readonly Socket[] | undefined)[]
    for (const socket of idle.flatMap((sockets) => sockets ?? [])) socket.destroy()
  }
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** Where several addresses were tried, Node's error has an empty message. */
function describe(error: Error): Error {
  if (error.message !== '') return error
  const { code } = error as NodeJS.ErrnoException
  return new Error(code ?? 'The connection failed.', { cause: error })
}
