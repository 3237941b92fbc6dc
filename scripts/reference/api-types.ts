import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

const JSON_SCHEMA = '#/components/schemas/Json'

/** The types of the API for the dashboard, from the API's own description. */
export async function apiTypes(description: object): Promise<string> {
  // The cast: the description is made as one of OpenAPI 3.1, and typed as what it is made of.
  const types = await openapiTS(description as never, {
    defaultNonNullable: false,
    // Any JSON is a type that holds itself, in which the client's types get lost: whoever reads one says what is expected.
    transform: (_, { path }) =>
      path === JSON_SCHEMA ? ts.factory.createKeywordTypeNode(ts.SyntaxKind.UnknownKeyword) : undefined,
  })
  return `/** Written by \`npm run build:docs\` from the description of the API. */\n\n${astToString(types)}`
}
