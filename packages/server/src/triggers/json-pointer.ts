/** The parts of a JSON pointer (RFC 6901). */
export function pointerParts(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** What stands at a place of a JSON value; undefined where nothing does. Only own properties are seen. */
export function valueAt(value: unknown, parts: readonly string[]): unknown {
  let found = value
  for (const part of parts) {
    if (Array.isArray(found)) {
      found = /^(?:0|[1-9]\d{0,8})$/.test(part) ? found[Number(part)] : undefined
    } else {
      found =
        typeof found === 'object' && found !== null && Object.hasOwn(found, part) ? (found as never)[part] : undefined
    }
  }
  return found
}
