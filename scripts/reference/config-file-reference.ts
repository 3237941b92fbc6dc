interface Schema {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

/** The page of starflow.yaml, from its own schema. */
export function configFileReference(file: Schema): string {
  const sections = Object.entries(file.properties ?? {}).flatMap(([name, section]) => sectionTexts(name, section, '##'))
  const webhook = file.properties?.webhooks?.additionalProperties as Schema
  const schemes = (webhook.properties?.signature?.oneOf ?? []).map(
    (scheme) => `### ${String(scheme.properties?.scheme?.const)}\n\n${scheme.description}\n\n${tableOf(scheme)}\n`,
  )
  return [HEAD, ...sections, `## Signatures\n\n${SIGNATURES}\n`, ...schemes].join('\n')
}

/** A map has one table, that of its entries; what has keys of its own has one for them, and one for each that is such a section. */
function sectionTexts(name: string, section: Schema, level: string): string[] {
  const entry = section.additionalProperties
  const shown = typeof entry === 'object' ? entry : section
  const text = `${level} ${name}\n\n${section.description}\n\n${tableOf(shown)}\n`
  if (shown === entry) return [text]
  const nested = Object.entries(section.properties ?? {}).flatMap(([key, each]) => {
    const own = [each, ...(each.anyOf ?? [])].find(isSection)
    return own === undefined
      ? []
      : sectionTexts(`${name}.${key}`, { description: each.description ?? '', ...own }, '###')
  })
  return [text, ...nested]
}

function isSection({ type, properties = {}, additionalProperties }: Schema): boolean {
  return type === 'object' && (Object.keys(properties).length > 0 || typeof additionalProperties === 'object')
}

const HEAD = `# starflow.yaml

${'What a server does by itself. It reads the file once, at its start, from its working directory or from `STARFLOW_CONFIG_FILE`, and is\nrefused with every problem of it ([SF920](../errors/SF920.md)); `npx starflow config check` tells them before. A key that is not here is one of them.\n[Triggers](../guides/triggers.md) and [Alerts](../operations/alerts.md) show how it is used. This page, and the JSON Schema in `packages/server/starflow.schema.json`, are written by\n`npm run build:docs`. For an editor that knows the YAML language server, name that file in the first line:'}

\`\`\`yaml
# yaml-language-server: $schema=node_modules/@starflow/server/starflow.schema.json
\`\`\`
`

const SIGNATURES = 'Secrets are named, never written: each name is an environment variable of the server.'

function tableOf({ properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([key, schema]) => {
    const standard = schema.default === undefined ? '' : `; default \`${JSON.stringify(schema.default)}\``
    const cells = [
      `\`${key}\``,
      `${typeOf(schema)}${required.includes(key) ? ', required' : standard}`,
      schema.description ?? '',
    ]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return `| key | | |\n|---|---|---|\n${rows.join('\n')}`
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (schema.oneOf !== undefined) return 'see [signatures](#signatures)'
  if (schema.anyOf !== undefined) return schema.anyOf.length > 3 ? 'JSON' : schema.anyOf.map(typeOf).join(' or ')
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`
  if (schema.type === 'object') {
    if (typeof schema.additionalProperties === 'object') return 'entries by name'
    const keys = Object.keys(schema.properties ?? {})
    if (keys.length === 0) return '`{}`'
    return `{ ${keys.map((key) => `\`${key}\``).join(', ')} }`
  }
  return schema.type ?? 'JSON'
}
