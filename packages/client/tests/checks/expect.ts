/** The few assertions that checks need where there is neither vitest nor `node:assert`: in a browser. */

export function expectEqual(actual: unknown, expected: unknown): void {
  const [left, right] = [canonical(actual), canonical(expected)]
  if (left !== right) throw new Error(`expected ${right}, but it is ${left}`)
}

/** Gives what a promise was rejected with. */
export async function rejectionOf(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error as Record<string, unknown>
  throw new Error(`expected a rejection, but it resolved with ${canonical(outcome.value)}`)
}

/** JSON with its keys in order. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)))
        : part,
    ) ?? 'undefined'
  )
}
