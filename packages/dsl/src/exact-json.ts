/**
 * JSON with numbers that JavaScript cannot hold: ids of 19 digits, which JSON.parse rounds without a word.
 *
 * Where such a text is to become the input of a run it is refused (`roundedNumber`). Where the database has one already,
 * it is read with a stand-in for each such number (`parseExactJson`), written as it was where it is shown (`exactJsonText`), and
 * refused where a handler would get it. A number is held when its text comes back from JavaScript with the same value; digits
 * behind the point of what is smaller than 2^53 may go, as they do everywhere.
 */

/** Begins a stand-in. Nothing that is stored has a NUL: Postgres refuses it, and so does toJsonText. */
const STAND_IN = '\0'

const LARGE_EXPONENT = /[eE]\+?\d\d\d/
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Objects and arrays that have a stand-in somewhere: to ask costs a walk for these only. */
const inexact = new WeakSet<object>()

/**
 * Reads JSON as JSON.parse does, with a stand-in for each number that it would round: a string, which no stored one equals.
 *
 * @throws SyntaxError of JSON.parse
 */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!hasManyDigits(text) && !LARGE_EXPONENT.test(text)) return value
  const marked = withStandIns(text)
  if (marked === text) return value
  const exact: unknown = JSON.parse(marked)
  if (typeof exact === 'object' && exact !== null) inexact.add(exact)
  return exact
}

/** Writes what `parseExactJson` read: numbers with a stand-in as they were. */
export function exactJsonText(value: unknown, space?: number): string {
  const text = JSON.stringify(value, null, space)
  return text?.includes('"\\u0000') ? text.replace(/"\\u0000(-?\d[\d.eE+-]*)"/g, '$1') : text
}

/**
 * Where a value of `parseExactJson` has a number that JavaScript would round, as in `$.items[3].id`; undefined where it has none.
 * Answers at once for a value without any.
 */
export function roundedNumber(value: unknown): string | undefined {
  if (typeof value === 'string') return value.startsWith(STAND_IN) ? '$' : undefined
  if (typeof value !== 'object' || value === null || !inexact.has(value)) return undefined
  return findStandIn(value)
}

/** The same for any part of such a value. */
export function findStandIn(root: unknown): string | undefined {
  const open: { readonly found: unknown; readonly path: string }[] = [{ found: root, path: '$' }]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { found, path } = node
    if (typeof found === 'string' && found.startsWith(STAND_IN)) return path
    if (typeof found !== 'object' || found === null) continue
    for (const [key, inner] of Object.entries(found)) {
      open.push({ found: inner, path: Array.isArray(found) ? `${path}[${key}]` : memberPath(path, key) })
    }
  }
  return undefined
}

/** The sentence for a refusal; the number itself is not repeated. */
export function roundedNumberProblem(path: string): string {
  return `${path} has more digits than a JavaScript number holds; send it as a string.`
}

export function memberPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`
}

const ENOUGH = 16

/**
 * Whether anything in a text is long enough to be rounded: with fewer digits only a large exponent is. Every payload that a worker
 * gets is looked through, so this looks at one character of sixteen, and around it only where that is a digit: a tenth of
 * the time of `/[\d.]{16}/`.
 */
function hasManyDigits(text: string): boolean {
  for (let at = ENOUGH - 1; at < text.length; at += ENOUGH) {
    if (!isOfNumber(text.charCodeAt(at))) continue
    let begin = at
    while (begin > 0 && isOfNumber(text.charCodeAt(begin - 1))) begin--
    while (at + 1 < text.length && isOfNumber(text.charCodeAt(at + 1))) at++
    if (at - begin + 1 >= ENOUGH) return true
  }
  return false
}

/** A digit, or the point; the slash between them in the table does no harm. */
function isOfNumber(character: number): boolean {
  return character >= 46 && character <= 57
}

/** The text is JSON: what begins with a digit or a minus outside of a string is a number. */
function withStandIns(text: string): string {
  let written = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '"') at = endOfString(text, at)
    else if (character === '-' || (character >= '0' && character <= '9')) {
      NUMBER.lastIndex = at
      const digits = NUMBER.exec(text)![0]
      if (isRounded(digits)) {
        written += `${text.slice(from, at)}"\\u0000${digits}"`
        from = at + digits.length
      }
      at += digits.length - 1
    }
  }
  return from === 0 ? text : written + text.slice(from)
}

/** Where the string that begins at a quote has its other one. */
function endOfString(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin + 1); ; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at
  }
}

function isRounded(digits: string): boolean {
  if (digits.length < 16 && !/e/i.test(digits)) return false
  const value = Number(digits)
  if (!Number.isFinite(value)) return true
  return Math.abs(value) > Number.MAX_SAFE_INTEGER && decimal(String(value)) !== decimal(digits)
}

/** A form that two texts of one number share: its digits without zeros at either end, and the power of ten behind them. */
function decimal(text: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = PARTS.exec(text)!
  const digits = whole! + fraction
  let begin = 0
  while (digits[begin] === '0') begin++
  let end = digits.length
  while (end > begin && digits[end - 1] === '0') end--
  return `${sign}${digits.slice(begin, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
