import * as z from 'zod/mini'

/** One parameter of a page's address. What it says wrongly is left out, and the rest counts. */
export function orLeftOut<TSchema extends z.ZodMiniType>(schema: TSchema): z.ZodMiniCatch<z.ZodMiniOptional<TSchema>> {
  return z.catch(z.optional(schema), undefined)
}

/** `?status=error&status=running&flow=x`: as plain as they are typed by hand; the schemas of the pages give them types. */
export function parseSearchParams(text: string): Record<string, string | string[]> {
  const params = new URLSearchParams(text)
  return Object.fromEntries(
    [...new Set(params.keys())].map((name) => {
      const values = params.getAll(name)
      return [name, values.length > 1 ? values : (values[0] as string)]
    }),
  )
}

/** The way back. What is undefined, null or an empty list is left out. */
export function formatSearchParams(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    for (const each of [value].flat()) {
      if (each !== undefined && each !== null) params.append(name, String(each))
    }
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}
