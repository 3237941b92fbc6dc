/** What of a query is needed to show it. */
export interface QueryState<T> {
  readonly data: T | undefined
  readonly error: unknown
  readonly refetch: () => unknown
}

type Data<TQueries extends readonly QueryState<unknown>[]> = {
  [K in keyof TQueries]: TQueries[K] extends QueryState<infer T> ? T : never
}

/** Several queries as one: it has data when all of them have, and the first error that any of them has. */
export function joined<const TQueries extends readonly QueryState<unknown>[]>(
  ...queries: TQueries
): QueryState<Data<TQueries>> {
  const isComplete = queries.every(({ data }) => data !== undefined)
  return {
    // The cast: none of them is undefined.
    data: isComplete ? (queries.map(({ data }) => data) as unknown as Data<TQueries>) : undefined,
    error: queries.find(({ error }) => error !== null)?.error ?? null,
    refetch: () => {
      for (const query of queries) if (query.error !== null) query.refetch()
    },
  }
}
