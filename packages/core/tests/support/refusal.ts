import postgres from 'postgres'

/** The four parts of a refusal. */
export interface Refusal {
  readonly code: string
  readonly message: string
  readonly detail: string | undefined
  readonly hint: string | undefined
}

/** What the database refuses a query with. A query that it accepts is an error. */
export async function refusal(query: PromiseLike<unknown>): Promise<Refusal> {
  try {
    await query
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error
    return { code: error.code, message: error.message, detail: error.detail, hint: error.hint }
  }
  throw new Error('The query was accepted.')
}
