import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { exactJsonText, parseExactJson, roundedNumber, roundedNumberProblem } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { OpenSpan, Tracing } from '@starflow/tracing'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { getCookie } from 'hono/cookie'
import { secureHeaders } from 'hono/secure-headers'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { z } from 'zod'
import type { Authentication, Authenticator } from '../auth/authenticator.ts'
import { scopeOf, WORKSPACE_HEADER } from '../auth/caller.ts'
import type { MetricsAuthenticator } from '../auth/metrics-authenticator.ts'
import { SESSION_COOKIE } from '../auth/session-cookie.ts'
import { errorFields, type ServerLog } from '../log.ts'
import { MAX_BODY_BYTES } from '../numbers.ts'
import type { Scope } from '../workspace.ts'
import { clientAddress } from './client-address.ts'
import type { Endpoint, EndpointAnswer, EndpointRequest } from './endpoint.ts'
import { errorAnswer } from './error-answer.ts'
import { unstorableProblem } from './storable-json.ts'
import { whileAllowed } from './while-allowed.ts'

/** What a browser's page has to send with the cookie to change something; no other site can. */
const REQUEST_HEADER = 'starflow-request'
const NO_BYTES = new Uint8Array()

export interface AppOptions {
  readonly endpoints: readonly Endpoint[]
  readonly log: ServerLog
  readonly trustedProxies: number
  /** Aborted when the server stops: streams end. */
  readonly stopped: AbortSignal
  /** Undefined where no endpoint has a caller. */
  readonly authenticator: Authenticator | undefined
  readonly metricsAuthenticator: MetricsAuthenticator
  /** Told of each answer: the operation (`none` where nothing answers), its status, and how long it took. */
  readonly onAnswered: (endpoint: string, status: number, seconds: number) => void
  /** Undefined: no spans. */
  readonly tracing?: Tracing | undefined
  /** Holds every answer against its description; for tests. */
  readonly checkAnswers: boolean
}

type Env = { Bindings: HttpBindings; Variables: { requestId: string } }
export type App = Hono<Env>

/** The HTTP application: authenticates, checks and hands on; what an endpoint does is the endpoint's. */
export function createApp(options: AppOptions): App {
  const app: App = new Hono<Env>()
  app.use(async (context, next) => {
    context.set('requestId', randomUUID())
    context.header('starflow-request-id', context.get('requestId'))
    await next()
    // Browsers take it over TLS only; that of the whole domain is for those to say whose it is.
    if (isSecure(context, options)) context.header('strict-transport-security', 'max-age=15552000')
  })
  app.use(
    secureHeaders({
      strictTransportSecurity: false,
      contentSecurityPolicy: {
        defaultSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        frameAncestors: ["'none'"],
      },
    }),
  )
  app.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: () => {
        throw bodyTooLarge()
      },
    }),
  )
  for (const endpoint of options.endpoints) {
    app.on(endpoint.method, honoPath(endpoint.path), (context) => answer(context, endpoint, options))
  }
  const refuseNameless = (context: Context<Env>, error: unknown) => {
    const response = refuse(context, error, options.log, undefined)
    options.onAnswered('none', response.status, 0)
    return response
  }
  app.notFound((context) => refuseNameless(context, notFound(context)))
  app.onError((error, context) => refuseNameless(context, error))
  return app
}

async function answer(context: Context<Env>, endpoint: Endpoint, options: AppOptions): Promise<Response> {
  const startedAt = performance.now()
  const span = beginSpan(context, endpoint, options)
  const handle = () =>
    handled(context, endpoint, options).catch((error: unknown) => refuse(context, error, options.log, endpoint))
  const response = await (span === undefined ? handle() : span.run(handle))
  if (span !== undefined) endSpan(span, response.status)
  const ms = performance.now() - startedAt
  options.onAnswered(endpoint.id, response.status, ms / 1000)
  options.log.debug(
    { requestId: context.get('requestId'), endpoint: endpoint.id, status: response.status, ms: Math.round(ms) },
    'answered',
  )
  return response
}

/** Not of what is asked every few seconds to see whether this process lives. */
function beginSpan(context: Context<Env>, endpoint: Endpoint, { tracing }: AppOptions): OpenSpan | undefined {
  if (tracing === undefined || endpoint.tag === 'Health') return undefined
  const { method } = context.req
  return tracing.begin({
    ...{ name: `${method} ${endpoint.path}`, kind: 'server', parent: context.req.header('traceparent') },
    attributes: {
      ...{ 'http.request.method': method, 'http.route': endpoint.path },
      'starflow.request_id': context.get('requestId'),
    },
  })
}

function endSpan(span: OpenSpan, status: number): void {
  span.set({ 'http.response.status_code': status })
  if (status >= 500) span.fail(String(status))
  span.end()
}

async function handled(context: Context<Env>, endpoint: Endpoint, options: AppOptions): Promise<Response> {
  const address = clientAddress(
    context.env.incoming.socket.remoteAddress ?? '',
    context.req.header('x-forwarded-for'),
    options.trustedProxies,
  )
  const authentication = await authenticate(context, endpoint, options, address)
  if (authentication?.via === 'cookie' && endpoint.method !== 'get') checkSameSite(context)
  const scope = authentication && scopeFor(endpoint, authentication, context.req.header(WORKSPACE_HEADER))
  const request: EndpointRequest = {
    params: checked(endpoint.params, context.req.param(), 'path'),
    query: checked(querySchema(endpoint), context.req.query(), 'query'),
    body: endpoint.body === undefined ? undefined : checked(endpoint.body, await jsonBody(context), 'body'),
    rawBody: endpoint.takesRawBody ? new Uint8Array(await context.req.arrayBuffer()) : NO_BYTES,
    // The cast: an endpoint whose access gives no scope does not look.
    scope: scope as Scope,
    workspaceId: typeof scope === 'object' ? scope.workspaceId : '',
    caller: authentication?.caller,
    headers: context.req.raw.headers,
    address,
    isSecure: isSecure(context, options),
    session: authentication?.session,
    // Made for those that look: it hangs on a signal that lives as long as the server.
    get signal() {
      const signals = [context.req.raw.signal, options.stopped]
      if (authentication !== undefined && options.authenticator !== undefined) {
        const isAllowed = () => options.authenticator!.isStillGood(authentication)
        signals.push(whileAllowed(isAllowed, context.env.outgoing as ServerResponse))
      }
      return AbortSignal.any(signals)
    },
  }
  const result = await endpoint.handle(request)
  if (result instanceof Response) return result
  if (options.checkAnswers) checkAnswer(endpoint, result)
  const headers = { 'content-type': 'application/json', ...result.headers }
  return context.body(exactJsonText(result.body), result.status as ContentfulStatusCode, headers)
}

function checkAnswer(endpoint: Endpoint, { status, body }: Exclude<EndpointAnswer, Response>): void {
  const described = endpoint.answers[status]
  if (described === undefined) throw new Error(`${endpoint.id} answers ${status}, which its description does not have`)
  described.schema.parse(body)
}

/** Undefined where the access says all that there is to say. */
async function authenticate(
  context: Context<Env>,
  { access }: Endpoint,
  { authenticator, metricsAuthenticator }: AppOptions,
  address: string,
): Promise<Authentication | undefined> {
  if (access === 'public') return undefined
  const [, bearer] = /^Bearer (.+)$/i.exec(context.req.header('authorization') ?? '') ?? []
  if (access === 'metrics') {
    await metricsAuthenticator.check(bearer, address)
    return undefined
  }
  if (authenticator === undefined) throw new Error('an endpoint needs a caller, and nobody authenticates')
  return await authenticator.authenticate({ bearer, cookie: getCookie(context, SESSION_COOKIE), address })
}

function scopeFor(endpoint: Endpoint, { caller }: Authentication, header: string | undefined): Scope | undefined {
  if (endpoint.access === 'operator' && caller.kind !== 'operator') throw operatorsOnly()
  if (endpoint.access !== 'scope' && endpoint.access !== 'workspace') return undefined
  const scope = scopeOf(caller, header)
  if (endpoint.access === 'workspace' && scope === 'every') {
    throw new StarflowError({
      code: 'SF905',
      message: 'The request does not say which workspace it is about.',
      detail: 'This endpoint is about exactly one.',
      hint: `Name it in the header ${WORKSPACE_HEADER}.`,
    })
  }
  return scope
}

function isSecure(context: Context<Env>, { trustedProxies }: AppOptions): boolean {
  return trustedProxies > 0 && context.req.header('x-forwarded-proto') === 'https'
}

/** A browser adds the cookie to whatever a page sends; this header it only lets pages of this server add. */
function checkSameSite(context: Context<Env>): void {
  if (context.req.header(REQUEST_HEADER) !== undefined) return
  throw new StarflowError({
    code: 'SF909',
    message: 'This request may have been sent by another site.',
    detail: `It carries the cookie of a sign-in, and not the header ${REQUEST_HEADER}.`,
    hint: `Add ${REQUEST_HEADER}: 1, or use a bearer token.`,
  })
}

async function jsonBody(context: Context<Env>): Promise<unknown> {
  const type = context.req.header('content-type') ?? ''
  if (!/^application\/json\b/i.test(type)) {
    throw invalidRequest('body', ['Its content-type must be application/json.'])
  }
  const value = parsedBody(await context.req.text())
  const rounded = roundedNumber(value)
  if (rounded !== undefined) throw invalidRequest('body', [roundedNumberProblem(rounded)])
  return value
}

function parsedBody(text: string): unknown {
  try {
    return parseExactJson(text)
  } catch {
    // What the parser says quotes the text, which may be anybody's business.
    throw invalidRequest('body', ['It is not JSON.'])
  }
}

/** A filter whose name is misspelt would show everything. Who asks the open ones, or scrapes, may add what it likes to an address. */
function querySchema({ query, access }: Endpoint): z.ZodObject {
  if (access === 'public' || access === 'metrics') return query
  const schema = strictQueries.get(query) ?? query.strict()
  strictQueries.set(query, schema)
  return schema
}

/** Made once for each endpoint: zod compiles a schema when it is first used. */
const strictQueries = new WeakMap<z.ZodObject, z.ZodObject>()

function checked(schema: z.ZodType, value: unknown, part: 'path' | 'query' | 'body'): unknown {
  const unstorable = unstorableProblem(value)
  if (unstorable !== undefined) throw invalidRequest(part, [unstorable])
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalidRequest(
    part,
    result.error.issues.map((issue) => `${issue.path.length === 0 ? 'It' : issue.path.join('.')}: ${issue.message}.`),
  )
}

function refuse(context: Context<Env>, error: unknown, log: ServerLog, endpoint: Endpoint | undefined): Response {
  const requestId = context.get('requestId')
  if (context.req.raw.signal.aborted) {
    // Whatever failed, failed for nobody: a body that ended in the middle, say. Metrics show the status, which is what proxies call it.
    log.info({ requestId, endpoint: endpoint?.id }, 'the caller hung up')
    return new Response(null, { status: 499 })
  }
  const { status, headers, body, isDefect } = errorAnswer(error, requestId)
  const fields = { requestId, endpoint: endpoint?.id, status, code: body.error.code }
  if (isDefect) log.error({ ...fields, ...errorFields(error) }, 'a request failed')
  else log.info(fields, 'refused')
  return context.json(body, status as ContentfulStatusCode, headers)
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function invalidRequest(part: 'path' | 'query' | 'body', problems: readonly string[]): StarflowError {
  return new StarflowError({
    code: 'SF902',
    message: `The ${part} of the request is not valid.`,
    detail: problems.join(' '),
    hint: 'Compare with /api/openapi.json. Nothing was changed.',
    fields: { part },
  })
}

function operatorsOnly(): StarflowError {
  return new StarflowError({
    code: 'SF904',
    message: 'This token may not do that.',
    detail: "It is a token of a workspace, and this endpoint is the operator's.",
    hint: "Use the operator's token.",
  })
}

function bodyTooLarge(): StarflowError {
  return new StarflowError({
    code: 'SF907',
    message: `The body of the request is larger than ${MAX_BODY_BYTES} bytes.`,
    detail: 'Inputs and payloads are kept with the run.',
    hint: 'Keep large data elsewhere, and send where it is.',
  })
}

function notFound(context: Context<Env>): StarflowError {
  return new StarflowError({
    code: 'SF908',
    message: `${context.req.method} ${context.req.path} is not an endpoint.`,
    detail: 'Nothing answers there.',
    hint: 'See /api/openapi.json, and /health for the role of this process.',
  })
}
