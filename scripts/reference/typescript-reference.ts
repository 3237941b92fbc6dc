import ts from 'typescript'

/** A package whose index is the interface. `readSource` gives a file of its `src` folder. */
export interface ReferencedPackage {
  readonly name: string
  readonly purpose: string
  readonly readSource: (file: string) => string
}

interface ExportedName {
  readonly name: string
  readonly shown: string
  readonly isType: boolean
  readonly summary: string
}

/** The page of exported names: what a package's index exports, with the first sentence of its comment. */
export function typescriptReference(packages: readonly ReferencedPackage[]): string {
  return `${HEAD}\n${packages.map(sectionOf).join('\n')}`
}

const HEAD = `# TypeScript

What each package exports; nothing else can be imported. This page is written by \`npm run build:docs\` from the packages' \`src/index.ts\`
and the comments in the sources, which editors show in full.
`

function sectionOf(each: ReferencedPackage): string {
  const names = exportsOf(each)
  const values = names.filter(({ isType }) => !isType)
  const types = names.filter(({ isType }) => isType)
  return `## ${each.name}\n\n${each.purpose}\n${tableOf('value', values)}${tableOf('type', types)}`
}

/** What says enough by its name alone stands below the table. */
function tableOf(title: string, names: readonly ExportedName[]): string {
  const rows = names
    .filter(({ summary }) => summary !== '')
    .map(({ shown, summary }) => `| \`${shown}\` | ${summary} |`)
  const others = names.filter(({ summary }) => summary === '').map(({ shown }) => `\`${shown}\``)
  const table = rows.length === 0 ? '' : `\n| ${title} | |\n|---|---|\n${rows.join('\n')}\n`
  return others.length === 0 ? table : `${table}\nAlso ${others.join(', ')}.\n`
}

/** In the order of the alphabet, whatever the order of the index. */
function exportsOf({ readSource }: ReferencedPackage): ExportedName[] {
  const parse = (file: string) => ts.createSourceFile(file, readSource(file), ts.ScriptTarget.Latest, true)
  const found = parse('index.ts').statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return []
    const file = (statement.moduleSpecifier as ts.StringLiteral).text.replace(/^\.\//, '')
    const declared = declarationsOf(parse(file))
    const { exportClause } = statement
    if (exportClause === undefined) return [...declared.values()]
    return (exportClause as ts.NamedExports).elements.map((element) => {
      const declaration = declared.get(element.name.text)
      if (declaration === undefined) throw new Error(`${file} does not declare ${element.name.text}.`)
      return declaration
    })
  })
  return found.sort((left, right) => left.name.localeCompare(right.name, 'en'))
}

function declarationsOf(source: ts.SourceFile): Map<string, ExportedName> {
  const names = new Map<string, ExportedName>()
  const add = (name: string, node: ts.Node, isType: boolean, shown = name) => {
    // Of overloads the first one speaks.
    if (!names.has(name)) names.set(name, { name, shown, isType, summary: summaryOf(node) })
  }
  for (const statement of source.statements) {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
    if (!isExported) continue
    if (ts.isFunctionDeclaration(statement) && statement.name !== undefined) {
      const parameters = statement.parameters.map((parameter) => nameOf(parameter))
      add(statement.name.text, statement, false, `${statement.name.text}(${parameters.join(', ')})`)
    } else if (ts.isClassDeclaration(statement) && statement.name !== undefined) {
      add(statement.name.text, statement, false, `class ${statement.name.text}`)
    } else if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) {
      add(statement.name.text, statement, true)
    } else if (ts.isVariableStatement(statement)) {
      for (const declaration of statement.declarationList.declarations)
        add(declaration.name.getText(), statement, false)
    }
  }
  return names
}

function nameOf({ name, questionToken, initializer }: ts.ParameterDeclaration): string {
  const text = ts.isIdentifier(name) ? name.text : 'options'
  return questionToken !== undefined || initializer !== undefined ? `${text}?` : text
}

/** The first sentence of the comment. */
function summaryOf(node: ts.Node): string {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const text = (ts.getTextOfJSDocComment(comment?.comment) ?? '').replaceAll(/\s+/g, ' ').trim()
  const sentence = /^.*?[.:;](?= [A-Z`]|$)/.exec(text)?.[0] ?? text
  return sentence.replace(/[:;]$/, '.').replaceAll('|', '\\|')
}
