export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/** Lines of a table whose columns are as wide as their widest cell. Cells are plain text: colour the lines, not the cells. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...rows.map((row) => (row[index] ?? '').length)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) =>
        columns[index]!.align === 'right' ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!),
      )
      .join('  ')
      .trimEnd()
  return [line(columns.map((column) => column.title)), ...rows.map(line)]
}

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** 12345 as 12,345. */
export function formatCount(value: number): string {
  return grouped.format(value)
}

/** A number of things: `1 worker`, `1,234 workers`. */
export function formatNumberOf(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** A duration as a person reads it: 340 ms, 4.2 s, 2 min 05 s. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 59_950) return `${(milliseconds / 1_000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1_000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

/** A duration of which fractions of a millisecond matter: 0.31 ms, 12.5 ms, 4.2 s. */
export function formatFineDuration(milliseconds: number): string {
  if (milliseconds < 9.995) return `${milliseconds.toFixed(2)} ms`
  if (milliseconds < 99.95) return `${milliseconds.toFixed(1)} ms`
  return formatDuration(milliseconds)
}
