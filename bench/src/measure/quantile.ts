/** The value below which the given part of the samples lies (nearest rank); NaN without samples. */
export function quantile(samples: readonly number[], part: number): number {
  if (samples.length === 0) return Number.NaN
  const sorted = [...samples].sort((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
}

/** The middle one, or the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  const sorted = samples.filter((sample) => !Number.isNaN(sample)).sort((left, right) => left - right)
  if (sorted.length === 0) return Number.NaN
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
