/** One change of one source file that some test should notice. */
export interface Mutant {
  /** From the root of the repository. */
  readonly file: string
  readonly line: number
  readonly before: string
  readonly after: string
  /** The whole text of the file with the change. */
  readonly text: string
}

interface Rule {
  readonly pattern: RegExp
  readonly replace: (match: string) => string
}

const swap = (pattern: RegExp, replacement: string): Rule => ({ pattern, replace: () => replacement })
const drop = (pattern: RegExp): Rule => ({ pattern, replace: (match) => match.replace(/\S/g, ' ') })

const COMPARISONS: readonly Rule[] = [
  swap(/(?<= )<(?= )/g, '<='),
  swap(/(?<= )<=(?= )/g, '<'),
  swap(/(?<= )>(?= )/g, '>='),
  swap(/(?<= )>=(?= )/g, '>'),
  swap(/(?<=[\w)] )\+(?= \d)/g, '-'),
  swap(/(?<=[\w)] )-(?= \d)/g, '+'),
]

const SQL_RULES: readonly Rule[] = [
  ...COMPARISONS,
  swap(/(?<=\b(?:where|and|or|when|if|on)\b[^;,\n]*[\w)\]] )=(?= )/g, '<>'),
  swap(/(?<= )<>(?= )/g, '='),
  swap(/(?<= )and(?= )/g, 'or'),
  swap(/(?<= )or(?= )(?! replace)/g, 'and'),
  drop(/\bnot (?=exists|coalesce|\w+\.|pgflow\.|v_|p_|\()/g),
  drop(/^ +perform [^;]+;/gm),
  drop(/ for (?:no key )?update(?: of \w+)?(?: skip locked)?/g),
]

const TS_RULES: readonly Rule[] = [
  ...COMPARISONS,
  swap(/(?<= )===(?= )/g, '!=='),
  swap(/(?<= )!==(?= )/g, '==='),
  swap(/(?<= )&&(?= )/g, '||'),
  swap(/(?<= )\|\|(?= )/g, '&&'),
  drop(/(?<=[(\s])!(?=[\w#(])/g),
  swap(/\btrue\b(?=[,;)\n])/g, 'false'),
  swap(/\bfalse\b(?=[,;)\n])/g, 'true'),
  drop(/^ +(?:this\.)?#?\w+(?:\.#?\w+)*\([^;{}\n]*\)$/gm),
]

/** Every mutant of a file, by place. Comments and strings are left alone. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const isSql = file.endsWith('.sql')
  const code = isSql ? withoutSqlText(source) : withoutTsText(source)
  return (isSql ? SQL_RULES : TS_RULES)
    .flatMap(({ pattern, replace }) =>
      [...code.matchAll(pattern)].map(({ index, 0: match }) => ({ index, match, replacement: replace(match) })),
    )
    .sort((one, other) => one.index - other.index)
    .map(({ index, match, replacement }) => {
      const text = source.slice(0, index) + replacement + source.slice(index + match.length)
      const begin = source.lastIndexOf('\n', index) + 1
      const lineOf = (of: string) => of.slice(begin, of.indexOf('\n', begin)).trim()
      return {
        file,
        line: source.slice(0, index).split('\n').length,
        before: lineOf(source),
        after: lineOf(text),
        text,
      }
    })
}

const blank = (text: string) => text.replace(/[^\n]/g, '\u0000')

/** A function's body stands in $$ and is code. What `comment on` says is a string. */
function withoutSqlText(source: string): string {
  return source.replace(/--[^\n]*|'(?:[^']|'')*'|\bcreate (?:type|index|table)[^;]*;/g, blank)
}

function withoutTsText(source: string): string {
  return source.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|^(?:import|export type|export interface)[^\n]*/gm,
    blank,
  )
}
