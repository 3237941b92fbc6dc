/** The parts of an OpenAPI description that the page shows. */
export interface ApiDescription {
  readonly info: { readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly 'x-access': string
  readonly parameters: readonly Parameter[]
  /** Only of an operation that takes JSON of a known form. */
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly schema: Schema } } }
  readonly responses: Readonly<Record<string, Response>>
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Response {
  readonly description: string
  readonly content: {
    readonly 'application/json'?: { readonly schema: Schema }
    readonly 'text/plain'?: { readonly schema: Schema }
  }
}

interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** The page of the HTTP API, from its own description. */
export function httpApiReference(api: ApiDescription): string {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ heading: `${method.toUpperCase()} ${path}`, operation })),
  )
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))]
  const sections = tags.map((tag) => {
    const parts = operations
      .filter(({ operation }) => operation.tags.includes(tag))
      .map(({ heading, operation }) => operationText(heading, operation))
    return `## ${tag}\n\n${parts.join('\n')}`
  })
  return `${HEAD}\n${api.info.description}\n\n${ACCESS}\n${sections.join('\n')}`
}

const HEAD = `# HTTP API

Served by a process whose role is \`edge\` or \`both\`, which describes it at \`/api/openapi.json\`. This page is written by
\`npm run build:docs\` from that description.
`

const ACCESS = `| access | who may call it |
|---|---|
| public | anybody |
| caller | whoever has a good token |
| scope | a token; about one workspace, or every one where the operator says \`*\` |
| workspace | a token; about exactly one workspace |
| operator | the operator alone |
| metrics | the operator, or whoever has the token for metrics; as a bearer token only |
`

function operationText(heading: string, operation: Operation): string {
  const body = operation.requestBody?.content['application/json']?.schema
  const rows = [
    ...operation.parameters.map((each) => row(each.name, each.in, each.required, each.schema, each.description)),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) =>
      row(name, 'body', body?.required?.includes(name) ?? false, schema, schema.description),
    ),
  ]
  const takes = rows.length === 0 ? '' : `| takes | in | | |\n|---|---|---|---|\n${rows.join('\n')}\n\n`
  const answers = Object.entries(operation.responses)
    .filter(([, { content }]) => schemaOf(content).type !== undefined)
    .map(([status, { description, content }]) => {
      const fields = Object.entries(schemaOf(content).properties ?? {})
      return `- ${status}: ${description}${fields.length === 0 ? '' : ` ${fields.map(([name, schema]) => `\`${name}\` (${typeOf(schema)})`).join(', ')}`}`
    })
  const refusals = Object.entries(operation.responses)
    .filter(([, { content }]) => schemaOf(content).type === undefined)
    .map(([status, { description }]) => `${status} ${description}`)
  const about = operation.description === undefined ? '' : ` ${operation.description}`
  return `### ${heading}\n\n${operation.summary}. Access: ${operation['x-access']}.${about}\n\n${takes}${answers.join('\n')}\n\nRefusals: ${refusals.join('; ')}.\n`
}

/** Only refusals have none of their own. */
function schemaOf(content: Response['content']): Schema {
  return (content['application/json'] ?? content['text/plain'])?.schema ?? {}
}

function row(name: string, place: string, isRequired: boolean, schema: Schema, description = ''): string {
  const standard = schema.default === undefined ? '' : `; default \`${JSON.stringify(schema.default)}\``
  const cells = [`\`${name}\``, place, `${typeOf(schema)}${isRequired ? ', required' : standard}`, description]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`
  // Any JSON is a pointer to the schema of it.
  return schema.format ?? [schema.type ?? 'JSON'].flat().join(' or ')
}
