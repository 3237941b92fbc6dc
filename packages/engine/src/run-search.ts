/** What a text finds among runs: those whose id begins with it, or those in which it stands somewhere. */
export type RunSearch =
  | { readonly kind: 'id'; readonly firstId: string; readonly lastId: string }
  | { readonly kind: 'text'; readonly text: string }

/** Run ids begin with the time: fewer digits would be those of every run of an hour. */
const MIN_ID_DIGITS = 8
const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/

/**
 * Reads what somebody has typed. What can be the beginning of an id, of eight hexadecimal digits or more, is taken for one, with
 * hyphens or without: then an index finds it, however many runs there are.
 */
export function parseRunSearch(text: string): RunSearch {
  const wanted = text.trim().toLowerCase()
  const digits = wanted.replaceAll('-', '')
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < MIN_ID_DIGITS || digits.length > 32) {
    return { kind: 'text', text: wanted }
  }
  const firstId = uuid(digits.padEnd(32, '0'))
  if (wanted !== digits && !firstId.startsWith(wanted)) return { kind: 'text', text: wanted }
  return { kind: 'id', firstId, lastId: uuid(digits.padEnd(32, 'f')) }
}

function uuid(digits: string): string {
  return digits.replace(UUID_PARTS, '$1-$2-$3-$4-$5')
}
