import type { ErrorCode } from '@starflow/errors'
import { z } from 'zod'
import type { Caller } from '../auth/caller.ts'
import type { Session } from '../auth/session-cookie.ts'
import type { Scope } from '../workspace.ts'

/**
 * Who may call an endpoint, and for whom.
 * - `public`: nobody is asked.
 * - `caller`: whoever has a good token.
 * - `scope`: a token; about one workspace, or, for an operator who asks for it, every one.
 * - `workspace`: a token; about exactly one workspace.
 * - `operator`: the operator alone.
 * - `metrics`: the operator, or whoever has the token for metrics. Only as a bearer token.
 */
export type Access = 'public' | 'caller' | 'scope' | 'workspace' | 'operator' | 'metrics'

/** An endpoint of the API: the one description that requests are checked by, that is served as OpenAPI, and that tests walk. */
export interface Endpoint {
  /** Names the operation in OpenAPI and in logs. */
  readonly id: string
  readonly method: 'get' | 'post' | 'delete'
  /** With parameters as `{runId}`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string | undefined
  readonly access: Access
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  /** Undefined: the endpoint takes no body. */
  readonly body: z.ZodType | undefined
  /** The bytes of the body are for the endpoint to read, whatever their type. */
  readonly takesRawBody: boolean
  /** What it answers when all is well, by status. */
  readonly answers: Readonly<Record<number, AnswerDescription>>
  /** Refusals that are its own, beside those that any request may get. */
  readonly errors: readonly ErrorCode[]
  handle(request: EndpointRequest): Promise<EndpointAnswer>
}

export interface AnswerDescription {
  readonly description: string
  readonly schema: z.ZodType
  /** Beside JSON: a stream of events with `Accept: text/event-stream`. */
  readonly isStreamable?: boolean
  /** Plain text instead of JSON. */
  readonly isText?: boolean
}

/** A request that was checked, and who sends it. */
export interface EndpointRequest<TParams = unknown, TQuery = unknown, TBody = unknown> {
  readonly params: TParams
  readonly query: TQuery
  readonly body: TBody
  /** Of an endpoint that takes the raw body; else empty. */
  readonly rawBody: Uint8Array
  /** Whose runs it is about. Of an endpoint whose access is `scope` or `workspace`. */
  readonly scope: Scope
  /** The workspace, of an endpoint whose access is `workspace`. */
  readonly workspaceId: string
  /** Undefined for `public`. */
  readonly caller: Caller | undefined
  readonly headers: Headers
  readonly address: string
  /** It came over TLS, to this server or to a proxy in front of it. */
  readonly isSecure: boolean
  /** The sign-in of the caller; undefined of a bearer token. */
  readonly session: Session | undefined
  /** Aborted when the caller hangs up, or the server stops. */
  readonly signal: AbortSignal
}

/** A body for JSON, or a whole response. */
export type EndpointAnswer =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | Response

/** Describes an endpoint; its handler is given what its schemas give. */
export function endpoint<
  TParams extends z.ZodObject = typeof nothing,
  TQuery extends z.ZodObject = typeof nothing,
  TBody extends z.ZodType = z.ZodUndefined,
>(
  definition: Omit<Endpoint, 'params' | 'query' | 'body' | 'takesRawBody' | 'errors' | 'handle'> & {
    readonly params?: TParams
    readonly query?: TQuery
    readonly body?: TBody
    readonly takesRawBody?: boolean
    readonly errors?: readonly ErrorCode[]
    handle(request: EndpointRequest<z.output<TParams>, z.output<TQuery>, z.output<TBody>>): Promise<EndpointAnswer>
  },
): Endpoint {
  const { params = nothing, query = nothing, errors = [], ...rest } = definition
  // The cast: what comes in has been through these schemas.
  return { body: undefined, takesRawBody: false, ...rest, params, query, errors } as Endpoint
}

const nothing = z.object({})
