import type { ErrorCode } from '@starflow/errors'
import { z } from 'zod'
import { WORKSPACE_HEADER } from '../auth/caller.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { errorBody } from './error-answer.ts'
import { statusOf } from './error-status.ts'

/** The OpenAPI 3.1 description of the API, made of the same schemas that check its requests. */
export function openApiDocument(endpoints: readonly Endpoint[], version: string) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Starflow',
      version,
      description: `Starts, shows and steers runs. A token of a workspace stands for it; the operator's token names one with the header \`${WORKSPACE_HEADER}\`. Every refusal has the same form, with a code that has a page in docs/errors.`,
    },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: "A token of a workspace, or the operator's." },
        session: { type: 'apiKey', in: 'cookie', name: 'starflow_session', description: 'A sign-in of the dashboard.' },
      },
      schemas: { Error: jsonSchema(errorBody, 'output'), Json: ANY_JSON },
    },
    paths,
  }
}

/** The endpoints, and one more that serves their description. */
export function withDescription(endpoints: readonly Endpoint[], version: string): readonly Endpoint[] {
  const own = endpoint({
    ...{ id: 'describe', method: 'get', path: '/api/openapi.json', tag: 'Health', access: 'public' },
    summary: 'Describe this API, as OpenAPI 3.1',
    answers: { 200: { description: 'The description.', schema: z.record(z.string(), z.unknown()) } },
    handle: async () => ({ status: 200, body: document }),
  })
  const all = [...endpoints, own]
  const document = openApiDocument(all, version)
  return all
}

function operationOf(endpoint: Endpoint) {
  const { id, tag, summary, description, access, body } = endpoint
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: access === 'public' ? [] : [{ token: [] }, ...(access === 'metrics' ? [] : [{ session: [] }])],
    'x-access': access,
    parameters: [
      ...parametersOf(endpoint.params, 'path'),
      ...parametersOf(endpoint.query, 'query'),
      ...(access === 'scope' || access === 'workspace' ? [workspaceParameter(access)] : []),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(body, 'input') } } } }),
    ...(endpoint.takesRawBody ? { requestBody: { required: true, content: { '*/*': { schema: {} } } } } : {}),
    responses: { ...answersOf(endpoint), ...refusalsOf(endpoint) },
  }
}

function parametersOf(schema: z.ZodObject, place: 'path' | 'query') {
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as {
    properties?: Record<string, { description?: string }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }))
}

function workspaceParameter(access: 'scope' | 'workspace') {
  const everyone = access === 'scope' ? ' `*` stands for every workspace.' : ''
  return {
    name: WORKSPACE_HEADER,
    in: 'header',
    required: false,
    description: `The workspace. Required with the operator's token; with one of a workspace it may only name that.${everyone}`,
    schema: { type: 'string' },
  }
}

function answersOf({ answers }: Endpoint) {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, schema, isStreamable, isText }]) => [
      status,
      {
        description,
        content: {
          [isText === true ? 'text/plain' : 'application/json']: { schema: jsonSchema(schema, 'output') },
          ...(isStreamable === true ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
        },
      },
    ]),
  )
}

/** By status, with the codes that it may have. */
function refusalsOf({ access, body, takesRawBody, errors }: Endpoint) {
  const codes: readonly ErrorCode[] = [
    ...(['SF902', 'SF911', 'SF914'] as const),
    ...(access === 'public' ? [] : (['SF903', 'SF906'] as const)),
    ...(access === 'scope' || access === 'workspace' ? (['SF904', 'SF905'] as const) : []),
    ...(access === 'operator' ? (['SF904'] as const) : []),
    ...(body === undefined && !takesRawBody ? [] : (['SF907'] as const)),
    ...errors,
  ]
  const unique = [...new Set(codes)].sort()
  return Object.fromEntries(
    unique.map(statusOf).map((status) => [
      String(status),
      {
        description: unique.filter((code) => statusOf(code) === status).join(', '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}

const JSON_POINTER = { $ref: '#/components/schemas/Json' }
const ANY_JSON = {
  description: 'Any JSON.',
  anyOf: [
    ...['string', 'number', 'boolean', 'null'].map((type) => ({ type })),
    { type: 'array', items: JSON_POINTER },
    { type: 'object', additionalProperties: JSON_POINTER },
  ],
}

/**
 * The one schema that points to itself is any JSON, and zod gives each use of it as a definition beside it; pointers of OpenAPI
 * begin at the document, where it stands once.
 */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, $defs, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' })
  if ($defs === undefined) return rest
  return JSON.parse(JSON.stringify(rest), (key, value) =>
    key === '$ref' && value.startsWith('#/$defs/') ? JSON_POINTER.$ref : value,
  )
}
