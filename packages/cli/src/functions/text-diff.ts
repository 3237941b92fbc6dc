/** What changes between two texts, as lines that begin with `-` or `+`. Good for short files: no moves, no fuzz. */
export function diffLines(before: string | undefined, after: string): string[] {
  const old = before === undefined ? [] : before.split('\n')
  const now = after.split('\n')
  // Longest common subsequence from the back; these files have a few dozen lines.
  const lengths = Array.from({ length: old.length + 1 }, () => new Array<number>(now.length + 1).fill(0))
  const at = (row: number, column: number) => lengths[row]?.[column] ?? 0
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = now.length - 1; column >= 0; column--) {
      const isSame = old[row] === now[column]
      lengths[row]![column] = isSame ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const lines: string[] = []
  let row = 0
  let column = 0
  while (row < old.length || column < now.length) {
    if (row < old.length && column < now.length && old[row] === now[column]) {
      row++
      column++
    } else if (column >= now.length || (row < old.length && at(row + 1, column) >= at(row, column + 1))) {
      lines.push(`- ${old[row++]}`)
    } else {
      lines.push(`+ ${now[column++]}`)
    }
  }
  return lines
}
