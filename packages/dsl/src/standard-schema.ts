/**
 * What we use of Standard Schema (standardschema.dev), which zod, valibot, arktype and others implement. Written out
 * here so that this package needs none of them.
 */
export interface StandardSchemaV1<TInput = unknown, TOutput = TInput> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<TOutput> | Promise<StandardResult<TOutput>>
    readonly types?: { readonly input: TInput; readonly output: TOutput } | undefined
  }
}

/**
 * A schema that gives a type and believes every value.
 *
 * @example
 * flow.wait({ slug: 'approve', payload: unchecked<{ approved: boolean }>() })
 */
export function unchecked<T>(): StandardSchemaV1<T> {
  return { '~standard': { version: 1, vendor: 'starflow', validate: (value) => ({ value: value as T }) } }
}

export type StandardResult<TOutput> =
  | { readonly value: TOutput; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
