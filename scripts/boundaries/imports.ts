import ts from 'typescript'

/** One import as it stands in a file. */
export interface ImportFound {
  readonly specifier: string
  readonly line: number
  /** True where the import vanishes when types are removed. */
  readonly isTypeOnly: boolean
}

/** Every import of a source text: static, re-export, dynamic, and `import('x')` in a type. */
export function findImports(path: string, source: string): ImportFound[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true)
  const found: ImportFound[] = []
  const add = (specifier: ts.Node | undefined, isTypeOnly: boolean) => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return
    const line = file.getLineAndCharacterOfPosition(specifier.getStart(file)).line + 1
    found.push({ specifier: specifier.text, line, isTypeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnlyImport(node))
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** `import type …`, or an import whose every name says `type`. */
function isTypeOnlyImport(node: ts.ImportDeclaration): boolean {
  const clause = node.importClause
  if (clause === undefined) return false
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const names = clause.namedBindings
  return (
    clause.name === undefined &&
    names !== undefined &&
    ts.isNamedImports(names) &&
    names.elements.length > 0 &&
    names.elements.every((element) => element.isTypeOnly)
  )
}
