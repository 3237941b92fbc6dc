/** A criterion of docs/reference/acceptance.md that no longer stands on a test. */
export interface Unproved {
  /** Of the document, from 1. */
  readonly line: number
  readonly problem: string
}

/** The section whose rows name a reason instead of a test. */
const OPEN_SECTION = '## Not yet proved'

/**
 * Checks the table of criteria: every row outside of the open section names at least one test, as `[label][] `the exact
 * title``, where the label is defined at the end of the document as a path, and the file at that path has a string literal
 * that is the title. `readFile` gives a file's text by its path as the document writes it, or undefined.
 */
export function findUnproved(document: string, readFile: (path: string) => string | undefined): Unproved[] {
  const lines = document.split('\n')
  const paths = new Map(
    lines.flatMap((line): [string, string][] => {
      const match = /^\[([^\]]+)\]: (\S+)$/.exec(line)
      return match === null ? [] : [[match[1] as string, match[2] as string]]
    }),
  )
  const used = new Set<string>()
  const problems: Unproved[] = []
  let isOpen = false
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('## ')) isOpen = line === OPEN_SECTION
    if (isOpen || !isRow(line)) continue
    const report = (problem: string) => problems.push({ line: index + 1, problem })
    const proofs = proofsOf(line)
    if (proofs.length === 0) report('names no test')
    for (const { label, title } of proofs) {
      used.add(label)
      const path = paths.get(label)
      const text = path === undefined ? undefined : readFile(path)
      if (path === undefined) report(`[${label}] is not defined`)
      else if (text === undefined) report(`${path} does not exist`)
      else if (!hasLiteral(text, title)) report(`${path} has no test "${title}"`)
    }
  }
  for (const [label, path] of paths) {
    if (!used.has(label)) {
      problems.push({ line: lines.indexOf(`[${label}]: ${path}`) + 1, problem: `[${label}] is not used` })
    }
  }
  return problems
}

function isRow(line: string): boolean {
  return line.startsWith('| ') && !line.startsWith('|---') && !line.startsWith('| criterion ')
}

/** The last cell: labels, each followed by the titles of its file. */
function proofsOf(row: string): { label: string; title: string }[] {
  const cell = row.slice(row.indexOf(' | '))
  let label = ''
  return [...cell.matchAll(/\[([^\]]+)\]\[\]|`([^`]+)`/g)].flatMap(([, newLabel, title]) => {
    if (newLabel !== undefined) label = newLabel
    return title === undefined ? [] : [{ label, title: title.replaceAll('\\|', '|') }]
  })
}

function hasLiteral(text: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => text.includes(`${quote}${title}${quote}`))
}
