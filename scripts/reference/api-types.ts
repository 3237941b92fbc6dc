import openapiTS, { astToString } from 'openapi-typescript'

/** The types of the API for the dashboard, from the API's own description. */
export async function apiTypes(description: object): Promise<string> {
  // The cast: the description is made as one of OpenAPI 3.1, and typed as what it is made of.
  const types = await openapiTS(description as never, { defaultNonNullable: false })
  return `/** Written by \`npm run build:docs\` from the description of the API. */\n\n${astToString(types)}`
}
