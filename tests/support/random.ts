/** Numbers from 0 to 1. Small and seeded, so that a failure can be tried again with the same decisions. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
