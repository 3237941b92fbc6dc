const grouped = new Intl.NumberFormat('en-GB')
const short = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 })

/** A count in full: `12,345`. */
export function formatCount(count: number): string {
  return grouped.format(count)
}

/** A count where there is little room: `12.3k`. */
export function formatShortCount(count: number): string {
  return count < 10_000 ? grouped.format(count) : short.format(count).toLowerCase()
}

/** `1 run`, `2 runs`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** How often something happens: `0`, `0.4`, `12`, `1,240`. */
export function formatRate(perUnit: number): string {
  if (perUnit === 0) return '0'
  return perUnit < 10 ? String(Math.round(perUnit * 10) / 10) : grouped.format(Math.round(perUnit))
}
