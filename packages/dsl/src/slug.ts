import { StarflowError } from '@starflow/errors'

/** The longest flow or step slug, in characters. */
export const MAX_SLUG_LENGTH = 128

/** Why a slug is refused. The first rule that it breaks, in this order. */
export type SlugRule =
  | 'not-text'
  | 'empty'
  | 'too-long'
  | 'first-character'
  | 'character'
  | 'last-character'
  | 'double-underscore'
  | 'reserved'

/** A flow or step slug that breaks the slug contract (SF106). */
export class InvalidSlugError extends StarflowError {
  readonly kind: 'flow' | 'step'
  readonly slug: string
  readonly rule: SlugRule

  constructor(kind: 'flow' | 'step', slug: string, rule: SlugRule) {
    super({
      code: 'SF106',
      message: `The ${kind} slug ${JSON.stringify(slug)} is not valid.`,
      detail: RULE_TEXTS[rule],
      hint: 'Use letters, digits and single underscores; begin with a letter and end with a letter or digit, as in "sendEmail" or "send_email".',
      fields: { kind, slug, rule },
    })
    this.kind = kind
    this.slug = slug
    this.rule = rule
  }
}

/**
 * The first rule of the slug contract that the text breaks; undefined for a valid slug. One contract for flows and steps,
 * in TypeScript and in SQL (`pgflow.is_valid_slug`): `vectors/names.json` is run by both.
 */
export function brokenSlugRule(slug: string): SlugRule | undefined {
  if (slug === '') return 'empty'
  if (slug.length > MAX_SLUG_LENGTH) return 'too-long'
  if (!/^[a-zA-Z]/.test(slug)) return 'first-character'
  if (/[^a-zA-Z0-9_]/.test(slug)) return 'character'
  if (slug.endsWith('_')) return 'last-character'
  if (slug.includes('__')) return 'double-underscore'
  if (slug === 'run') return 'reserved'
  return undefined
}

export function isValidSlug(slug: string): boolean {
  return brokenSlugRule(slug) === undefined
}

/** Gives the slug back, or throws an {@link InvalidSlugError}. */
export function checkSlug(kind: 'flow' | 'step', slug: unknown): string {
  if (typeof slug !== 'string') throw new InvalidSlugError(kind, String(slug), 'not-text')
  const rule = brokenSlugRule(slug)
  if (rule !== undefined) throw new InvalidSlugError(kind, slug, rule)
  return slug
}

const RULE_TEXTS: Readonly<Record<SlugRule, string>> = {
  'not-text': 'It is not a string.',
  empty: 'It is empty.',
  'too-long': `It is longer than ${MAX_SLUG_LENGTH} characters.`,
  'first-character': 'Its first character is not a letter (a-z, A-Z).',
  character: 'It has a character that is not a letter (a-z, A-Z), a digit or an underscore.',
  'last-character': 'Its last character is not a letter or a digit.',
  'double-underscore': 'It has two underscores in a row, which are reserved for queue names.',
  reserved: 'The word "run" is reserved.',
}
