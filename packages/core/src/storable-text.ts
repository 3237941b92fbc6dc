const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g

/** NUL and lone surrogates, which Postgres cannot store, become U+FFFD: one of them would refuse a whole batch. */
export function storableText(text: string | undefined): string | undefined {
  return text?.replaceAll('\0', '\uFFFD').replace(LONE_SURROGATE, '\uFFFD')
}
