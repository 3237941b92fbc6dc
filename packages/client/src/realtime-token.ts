/** A token that ends within it would not last for the join. */
const MARGIN_MS = 1_000

/** Whether a token is worth nothing any more. One that cannot be read is not ours to judge. */
export function hasEnded(token: string | null, now: number): boolean {
  const payload = token?.split('.')[1]
  if (payload === undefined) return false
  try {
    const { exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { exp?: unknown }
    return typeof exp === 'number' && exp * 1000 <= now + MARGIN_MS
  } catch {
    return false
  }
}

/** Whether a channel was refused for the token that came with it, rather than lost. */
export function isRefusal(problem: Error | undefined): boolean {
  return problem !== undefined && /token|jwt|unauthori[sz]ed|permission/i.test(problem.message)
}
