import { checkValue } from './check-value.ts'
import { type Draft, draftOf, emptyDraft, type Problem, readDraft, readJson } from './draft.ts'
import { type Field, fieldOf } from './field.ts'
import type { Json } from './json.ts'

/** A value that is being written: field by field, or as JSON. */
export interface FormState {
  readonly schema: Json
  readonly field: Field
  readonly mode: 'fields' | 'json'
  /** Of the mode `fields`. */
  readonly draft: Draft
  /** Of the mode `json`. */
  readonly text: string
}

/** What is written so far: a value, or what has to be mended before it is one. */
export type FormReading =
  | { readonly value: Json; readonly problems: readonly [] }
  | { readonly value: undefined; readonly problems: readonly Problem[] }

/** A form with its defaults. Without a schema, and where it says nothing, there is nothing but JSON. */
export function formOf(schema: Json, initial?: Json): FormState {
  const field = fieldOf(schema)
  const draft = initial === undefined ? emptyDraft(field) : draftOf(field, initial)
  return {
    schema,
    field,
    mode: field.kind === 'json' || draft === undefined ? 'json' : 'fields',
    draft: draft ?? emptyDraft(field),
    text: JSON.stringify(initial ?? {}, null, 2),
  }
}

export function readForm({ schema, field, mode, draft, text }: FormState): FormReading {
  const { value, problems } = mode === 'fields' ? readDraft(field, draft) : readText(text)
  if (value === undefined) return { value: undefined, problems }
  // All at once: what the schema has against the rest is told beside what cannot be read, and not after that is mended.
  const refused = checkValue(schema, value).filter(({ path }) => !problems.some((known) => isAbout(path, known.path)))
  const all = [...problems, ...refused]
  return all.length > 0 ? { value: undefined, problems: all } : { value, problems: [] }
}

/** The same place, or one of them within the other. */
function isAbout(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`)
}

/** The same value as JSON, as far as it can be read. */
export function asJson(form: FormState): FormState {
  const { value } = readDraft(form.field, form.draft)
  return { ...form, mode: 'json', text: JSON.stringify(value ?? null, null, 2) }
}

/** The same value in fields; undefined where they cannot hold it. */
export function asFields(form: FormState): FormState | undefined {
  const { value } = readJson(form.text)
  const draft = value === undefined ? undefined : draftOf(form.field, value)
  return draft === undefined ? undefined : { ...form, mode: 'fields', draft }
}

function readText(text: string): { readonly value: Json | undefined; readonly problems: readonly Problem[] } {
  const { value, error } = readJson(text)
  return { value, problems: error === null ? [] : [{ path: '', message: error }] }
}
