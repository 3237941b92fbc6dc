const AREAS: Readonly<Record<string, string>> = {
  SF0: 'Configuration',
  SF1: 'Definitions of flows',
  SF2: 'Runs',
  SF3: 'Claiming and settling',
  SF4: 'Workers',
  SF5: 'The local platform',
  SF6: 'Command line and demo',
  SF7: 'Settings',
  SF8: 'The engine and its runners',
  SF9: 'The server',
}

/**
 * The index of error codes. `pageOf` gives the page of a code: a heading, then what the error says.
 *
 * @throws Error for a code of an area that has no name here
 */
export function errorsReference(codes: Readonly<Record<string, string>>, pageOf: (code: string) => string): string {
  const sorted = Object.keys(codes).sort()
  const nameless = sorted.find((code) => !Object.hasOwn(AREAS, code.slice(0, 3)))
  if (nameless !== undefined) throw new Error(`The area of ${nameless} has no title in errors-reference.ts.`)
  const sections = Object.entries(AREAS).map(([area, title]) => {
    const rows = sorted
      .filter((code) => code.startsWith(area))
      .map((code) => `| [${code}](../errors/${code}.md) | ${codes[code]} | ${messageOf(pageOf(code))} |`)
    return `## ${title}\n\n| code | name | says |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  return `${HEAD}\n${sections.join('\n')}`
}

const HEAD = `# Errors

Each refusal is a \`StarflowError\` with a code, a message, a detail (the numbers) and a hint (the way out). The code is the SQLSTATE in
SQL, \`error.code\` in TypeScript and what the command line prints first. Recognise errors by it: \`isStarflowError(error, 'SF201')\`, or
\`fromSqlError(error)\` for one that a database client threw.

The table of codes is \`packages/errors/src/codes.ts\`; a code is never used again for something else. This page is written by
\`npm run build:docs\`.
`

/** The first sentence after the heading: a message in code or as a quotation, or what happened. */
function messageOf(page: string): string {
  const line = page.split('\n').find((each, index) => index > 0 && each.trim() !== '') ?? ''
  const text = line.replace(/^> /, '')
  // A full stop inside of a message or a file name ends nothing.
  const sentence = text.startsWith('`') ? text : (/^.*?\.(?= [A-Z]|$)/.exec(text)?.[0] ?? text)
  return sentence.replaceAll('|', '\\|')
}
