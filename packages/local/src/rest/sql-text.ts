import { RestError } from './rest-error.ts'

/** A name as SQL reads it, whatever characters it has. */
export function quoteIdentifier(name: string): string {
  // The wire ends a statement at NUL: what followed would be read as something else.
  if (name.includes('\0')) {
    throw new RestError({ status: 400, code: 'PGRST100', message: 'A name cannot contain the character NUL.' })
  }
  return `"${name.replaceAll('"', '""')}"`
}

/** A name in a schema. */
export function qualifiedName(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

/** The values of a statement. They travel beside its text, so no value is ever read as SQL. */
export class SqlParameters {
  readonly values: unknown[]

  constructor(values: readonly unknown[] = []) {
    this.values = [...values]
  }

  /** Keeps a value and gives the text that stands for it. */
  bind(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  /** The same values, to go on from for another statement. */
  copy(): SqlParameters {
    return new SqlParameters(this.values)
  }
}
