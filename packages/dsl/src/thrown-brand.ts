/** Whether a thrown value is an error with this brand. A proxy whose traps throw is not. */
export function isBranded(thrown: unknown, brand: symbol): boolean {
  try {
    return thrown instanceof Error && (thrown as unknown as Record<symbol, unknown>)[brand] === true
  } catch {
    return false
  }
}
