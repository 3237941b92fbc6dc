import { median } from '../measure/quantile.ts'
import { type Column, formatFigure } from './column.ts'
import type { Row } from './row.ts'

/** A Markdown table whose columns also line up in a terminal: labels to the left, medians to the right. */
export function table(rows: readonly Row[], columns: readonly Column[]): string {
  const labels = [...new Set(rows.flatMap((row) => Object.keys(row.labels)))]
  const lines = [
    [...labels, ...columns.map(({ title }) => title)],
    ...rows.map((row) => [
      ...labels.map((label) => String(row.labels[label] ?? '')),
      ...columns.map((column) => formatFigure(median(row.samples[column.figure] ?? []), column)),
    ]),
  ]
  const widths = lines[0]!.map((_, index) => Math.max(3, ...lines.map((line) => line[index]!.length)))
  const [head, ...body] = lines.map((line) =>
    join(line.map((cell, index) => pad(cell, widths[index]!, index < labels.length))),
  )
  const rule = join(
    widths.map((width, index) => (index < labels.length ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)),
  )
  return [head, rule, ...body].join('\n')
}

function join(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function pad(text: string, width: number, isLabel: boolean): string {
  return isLabel ? text.padEnd(width) : text.padStart(width)
}
