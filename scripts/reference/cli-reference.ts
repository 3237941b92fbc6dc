/** What `--help` of a command says, taken apart. */
interface Help {
  readonly usage: string
  readonly description: string
  readonly arguments: readonly Term[]
  readonly options: readonly Term[]
  readonly commands: readonly Term[]
}

interface Term {
  readonly term: string
  readonly text: string
}

/** The page of the command line, from its own help. `helpOf` gives the output of `--help` for a path of commands. */
export async function cliReference(helpOf: (path: readonly string[]) => Promise<string>): Promise<string> {
  const sections: string[] = []
  const visit = async (path: readonly string[]): Promise<void> => {
    const help = parseHelp(await helpOf(path))
    const commands = help.commands.map(({ term }) => term.split(' ')[0] as string).filter((name) => name !== 'help')
    // A command that only holds others has nothing to say beside its name; the program itself is the page.
    if (path.length > 0 && (help.commands.length === 0 || help.options.length > 1)) sections.push(sectionOf(path, help))
    for (const name of commands) await visit([...path, name])
  }
  await visit([])
  return `${HEAD}\n${sections.join('\n')}`
}

const HEAD = `# Command line

In a project: \`npx starflow\`. In this repository: \`npm run starflow -- COMMAND\`; \`npm run demo\` and \`npm run dev\` are \`starflow demo\` and
\`starflow dev\`. This page is written by \`npm run build:docs\` from what \`--help\` prints.

Exit codes: 0 done; 1 refused, failed, or a check that found something; 2 the command line is wrong; 3 a run waits for somebody; 70 a
defect of ours; 130 ended by Ctrl-C. With \`--json\` a command prints one JSON object, an error too: \`{ "error": { "code", "message", "detail", "hint" } }\`.
`

function sectionOf(path: readonly string[], help: Help): string {
  const rows = [...help.arguments, ...help.options.filter(({ term }) => term !== '-h, --help')].map(
    ({ term, text }) => `| \`${term}\` | ${text.replaceAll('|', '\\|')} |`,
  )
  const table = rows.length === 0 ? '' : `\n| | |\n|---|---|\n${rows.join('\n')}\n`
  return `## starflow ${path.join(' ')}\n\n${help.description}\n\n\`\`\`sh\n${help.usage}\n\`\`\`\n${table}`
}

/** Lines are joined again, so that the width of a terminal does not matter. */
export function parseHelp(text: string): Help {
  const blocks = text.trim().split(/\n\n+/)
  const block = (title: string) => {
    const found = blocks.find((each) => each.startsWith(`${title}:\n`))
    return found === undefined ? [] : termsOf(found.split('\n').slice(1))
  }
  return {
    usage: (blocks[0] ?? '').replace(/^Usage: /, '').replaceAll(/\s+/g, ' '),
    description: (blocks[1] ?? '').replaceAll(/\s+/g, ' '),
    arguments: block('Arguments'),
    options: block('Options'),
    commands: block('Commands'),
  }
}

function termsOf(lines: readonly string[]): Term[] {
  const terms: { term: string; text: string }[] = []
  for (const line of lines) {
    const start = /^ {2}(\S.*?)(?: {2,}(\S.*))?$/.exec(line)
    if (start !== null) terms.push({ term: start[1] as string, text: start[2] ?? '' })
    else terms.at(-1)!.text = `${terms.at(-1)!.text} ${line.trim()}`.trim()
  }
  return terms
}
