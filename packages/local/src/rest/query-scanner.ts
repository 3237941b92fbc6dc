import { RestError } from './rest-error.ts'

/** Reads one text of a query from left to right. What does not fit throws PGRST100 with its place. */
export class QueryScanner {
  readonly #text: string
  readonly #subject: string
  #at = 0

  /** `subject` names the text in errors: `filter`, `order`, ... */
  constructor(text: string, subject: string) {
    this.#text = text
    this.#subject = subject
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length
  }

  /** Steps over `text` if it is next. */
  accept(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  /** Steps over what a sticky expression matches here, if it does. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match === null) return undefined
    this.#at += match[0].length
    return match
  }

  /** All that is left. */
  takeRest(): string {
    const rest = this.#text.slice(this.#at)
    this.#at = this.#text.length
    return rest
  }

  /** A name: bare, or between double quotes with backslashes as escapes. */
  takeName(expected: string): string {
    const quoted = this.take(QUOTED)?.[1]
    if (quoted !== undefined) return withoutEscapes(quoted)
    const bare = this.take(BARE_NAME)?.[0].trim()
    return bare === undefined || bare === '' ? this.fail(expected) : bare
  }

  /** Throws unless all was read. */
  end(): void {
    if (!this.isAtEnd) this.fail('end of input')
  }

  fail(expected: string): never {
    const found = this.isAtEnd ? 'end of input' : `"${[...this.#text.slice(this.#at)][0]}"`
    throw new RestError({
      status: 400,
      code: 'PGRST100',
      message: `"failed to parse ${this.#subject} (${this.#text})" (line 1, column ${this.#at + 1})`,
      details: `unexpected ${found} expecting ${expected}`,
    })
  }
}

/** Text between double quotes; what it holds is the first group. */
export const QUOTED = /"((?:[^"\\]|\\.)*)"/suy
// A dash belongs to the name unless it begins an arrow.
const BARE_NAME = /(?:[\p{L}\p{N}_ $]|-(?!>))+/uy

/** Takes the backslashes out of quoted text. */
export function withoutEscapes(quoted: string): string {
  return quoted.replace(/\\(.)/gsu, '$1')
}
