import type { Json, JsonObject } from './json.ts'

/**
 * A part of a form, made from a part of a JSON Schema. What no field can express is of kind `json`: a text area whose text is
 * checked.
 */
export type Field = FieldBase &
  (
    | { readonly kind: 'text'; readonly format: TextFormat | null; readonly isLong: boolean }
    | { readonly kind: 'number'; readonly isInteger: boolean }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly choices: readonly Json[] }
    | { readonly kind: 'fixed'; readonly value: Json }
    | { readonly kind: 'object'; readonly fields: readonly Field[] }
    | { readonly kind: 'list'; readonly item: Field }
    | { readonly kind: 'json' }
  )

export type TextFormat = 'email' | 'uri' | 'date' | 'time' | 'date-time' | 'uuid'

interface FieldBase {
  /** Name of the property; empty for the whole and for items of a list. */
  readonly name: string
  readonly title: string | null
  readonly description: string | null
  readonly isRequired: boolean
  readonly isNullable: boolean
  /** Undefined: there is none. */
  readonly initial: Json | undefined
  /** What a value must be beyond its type, in words. */
  readonly limits: readonly string[]
}

const FORMATS: readonly string[] = ['email', 'uri', 'date', 'time', 'date-time', 'uuid'] satisfies TextFormat[]
/** Text that may be longer than this is written into a text area. */
const LONG_TEXT_FROM = 200
/** A flow with deeper inputs than this is started with JSON. */
const MOST_DEPTH = 8

/** Keywords that a field expresses, or that say nothing about what is valid. With any other one, it takes JSON. */
const ANNOTATIONS = [
  '$schema',
  '$id',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  '$comment',
]
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['type', 'format', 'minLength', 'maxLength', 'pattern', 'contentEncoding'],
  number: ['type', 'format', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: ['type'],
  object: ['type', 'properties', 'required', 'additionalProperties'],
  array: ['type', 'items', 'minItems', 'maxItems', 'uniqueItems'],
}

/** The form of a JSON Schema. */
export function fieldOf(schema: Json): Field {
  return makeField(schema, { root: schema, name: '', isRequired: true, depth: 0 })
}

interface Place {
  /** Where references lead. */
  readonly root: Json
  readonly name: string
  readonly isRequired: boolean
  readonly depth: number
}

function makeField(given: Json, place: Place): Field {
  const outer = isObject(given) ? given : {}
  const { schema: inner, isNullable } = withoutNull(resolve(outer, place.root))
  const schema = resolve(inner, place.root)
  const base: FieldBase = {
    name: place.name,
    title: textOf(outer.title ?? schema.title),
    description: textOf(outer.description ?? schema.description),
    isRequired: place.isRequired,
    isNullable,
    initial: outer.default ?? schema.default,
    limits: limitsOf(schema),
  }
  return { ...base, ...kindOf(schema, place) }
}

type Kind = Field extends infer TField ? (TField extends Field ? Omit<TField, keyof FieldBase> : never) : never

function kindOf(schema: JsonObject, place: Place): Kind {
  const json = { kind: 'json' } as const
  const choices = choicesOf(schema)
  if (choices !== undefined) {
    return choices.length === 1 ? { kind: 'fixed', value: choices[0]! } : { kind: 'choice', choices }
  }
  const type = schema.type === 'integer' ? 'number' : schema.type
  if (typeof type !== 'string' || !hasOnly(schema, KEYWORDS[type] ?? []) || place.depth > MOST_DEPTH) return json
  switch (type) {
    case 'string':
      return { kind: 'text', format: formatOf(schema), isLong: (numberOf(schema.maxLength) ?? 0) > LONG_TEXT_FROM }
    case 'number':
      return { kind: 'number', isInteger: schema.type === 'integer' }
    case 'boolean':
      return { kind: 'boolean' }
    case 'object': {
      const { properties, additionalProperties } = schema
      const allowsOthers = isObject(additionalProperties) && Object.keys(additionalProperties).length > 0
      if (!isObject(properties) || Object.keys(properties).length === 0 || allowsOthers) return json
      const required = Array.isArray(schema.required) ? schema.required : []
      // The database keeps no order of properties, but that of what is required.
      const names = [
        ...required.filter((name: Json) => Object.hasOwn(properties, String(name))),
        ...Object.keys(properties),
      ]
      const fields = [...new Set(names.map(String))]
        .map((name) => [name, properties[name]] as const)
        .map(([name, property]) =>
          makeField(property ?? true, { ...place, name, isRequired: required.includes(name), depth: place.depth + 1 }),
        )
      return { kind: 'object', fields }
    }
    case 'array': {
      if (!isObject(schema.items)) return json
      const item = makeField(schema.items, { ...place, name: '', isRequired: true, depth: place.depth + 1 })
      // A list of text areas with JSON reads worse than one of them.
      return item.kind === 'json' ? json : { kind: 'list', item }
    }
    default:
      return json
  }
}

/** Undefined: it is not one of a few values. */
function choicesOf(schema: JsonObject): readonly Json[] | undefined {
  if (schema.const !== undefined && hasOnly(schema, ['const', 'type'])) return [schema.const]
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && hasOnly(schema, ['enum', 'type'])) return schema.enum
  const alternatives = schema.anyOf ?? schema.oneOf
  if (!Array.isArray(alternatives) || !hasOnly(schema, ['anyOf', 'oneOf', 'type'])) return undefined
  const each = alternatives.map((alternative: Json) => (isObject(alternative) ? choicesOf(alternative) : undefined))
  return each.every((choices) => choices !== undefined) && each.length > 0 ? each.flat() : undefined
}

/** Null as one of the types, as one of two alternatives, or among the values. */
function withoutNull(schema: JsonObject): { readonly schema: JsonObject; readonly isNullable: boolean } {
  const { type } = schema
  if (Array.isArray(type) && type.length === 2 && type.includes('null')) {
    const other = type.find((each: Json) => each !== 'null')!
    const values = Array.isArray(schema.enum) ? { enum: schema.enum.filter((value: Json) => value !== null) } : {}
    return { schema: { ...schema, type: other, ...values }, isNullable: true }
  }
  const key = Array.isArray(schema.anyOf) ? 'anyOf' : 'oneOf'
  const alternatives = schema[key]
  if (Array.isArray(alternatives)) {
    const others = alternatives.filter((each: Json) => !(isObject(each) && each.type === 'null'))
    if (others.length < alternatives.length) {
      const { [key]: _, ...rest } = schema
      const only = others[0]
      const isSingle = others.length === 1 && only !== undefined && isObject(only)
      return { schema: isSingle ? { ...rest, ...only } : { ...rest, [key]: others }, isNullable: true }
    }
  }
  return { schema, isNullable: false }
}

/** What a reference within the document leads to. One that leads nowhere, elsewhere, or in a circle stays, and takes JSON. */
function resolve(schema: JsonObject, root: Json): JsonObject {
  let resolved = schema
  for (let hops = 0; typeof resolved.$ref === 'string' && hops < MOST_DEPTH; hops++) {
    const { $ref, ...beside } = resolved
    const target = targetOf($ref as string, root)
    if (target === undefined || refersTo(target, $ref as string, root)) return resolved
    resolved = { ...target, ...beside }
  }
  return resolved
}

function targetOf(reference: string, root: Json): JsonObject | undefined {
  if (!reference.startsWith('#/')) return undefined
  let target: Json | undefined = root
  for (const part of reference.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    target = target !== undefined && isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined
  }
  return target !== undefined && isObject(target) ? target : undefined
}

/** Whether a schema leads back to a reference: its form would have no end. */
function refersTo(schema: Json, reference: string, root: Json, seen: readonly string[] = []): boolean {
  if (Array.isArray(schema)) return schema.some((each: Json) => refersTo(each, reference, root, seen))
  if (!isObject(schema)) return false
  if (schema.$ref === reference) return true
  if (typeof schema.$ref === 'string' && !seen.includes(schema.$ref)) {
    const target = targetOf(schema.$ref, root)
    if (target !== undefined && refersTo(target, reference, root, [...seen, schema.$ref])) return true
  }
  return Object.values(schema).some((each) => each !== undefined && refersTo(each, reference, root, seen))
}

function limitsOf(schema: JsonObject): readonly string[] {
  const say = (key: string, words: (value: string) => string): string[] => {
    const value = numberOf(schema[key])
    // The bounds of safe integers, which some libraries write for every integer, tell nobody anything.
    return value === undefined || Math.abs(value) === Number.MAX_SAFE_INTEGER ? [] : [words(value.toLocaleString('en'))]
  }
  return [
    ...say('minLength', (value) => (value === '1' ? 'not empty' : `at least ${value} characters`)),
    ...say('maxLength', (value) => `at most ${value} characters`),
    ...say('minimum', (value) => `${value} or more`),
    ...say('exclusiveMinimum', (value) => `more than ${value}`),
    ...say('maximum', (value) => `${value} or less`),
    ...say('exclusiveMaximum', (value) => `less than ${value}`),
    ...say('multipleOf', (value) => `a multiple of ${value}`),
    ...say('minItems', (value) => `at least ${value}`),
    ...say('maxItems', (value) => `at most ${value}`),
    ...(typeof schema.pattern === 'string' && schema.format === undefined ? [`matches ${schema.pattern}`] : []),
    ...(schema.uniqueItems === true ? ['no two alike'] : []),
  ]
}

function formatOf(schema: JsonObject): TextFormat | null {
  return FORMATS.includes(String(schema.format)) ? (schema.format as TextFormat) : null
}

function hasOnly(schema: JsonObject, keywords: readonly string[]): boolean {
  return Object.keys(schema).every((key) => keywords.includes(key) || ANNOTATIONS.includes(key))
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
