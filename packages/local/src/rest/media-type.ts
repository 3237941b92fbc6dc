import { RestError } from './rest-error.ts'

/** How the rows of an answer are written. */
export interface MediaType {
  readonly name: string
  /** `object`: the one row that there has to be. */
  readonly shape: 'array' | 'object'
  readonly stripsNulls: boolean
}

const JSON_ARRAY: MediaType = { name: 'application/json', shape: 'array', stripsNulls: false }

/** The first of the header `Accept` that is served. Throws PGRST107 where none is. */
export function acceptedMediaType(header: string | undefined): MediaType {
  const wanted = (header ?? '').split(',').map((each) => each.trim().toLowerCase())
  for (const each of wanted) {
    const [type = '', ...parameters] = each.split(';').map((part) => part.trim())
    const stripsNulls = parameters.includes('nulls=stripped')
    if (['', '*/*', 'application/*', 'application/json'].includes(type)) return JSON_ARRAY
    const shape = /^application\/vnd\.pgrst\.(array|object)(?:\+json)?$/.exec(type)?.[1] as
      | MediaType['shape']
      | undefined
    if (shape !== undefined) {
      const name = `application/vnd.pgrst.${shape}+json${stripsNulls ? ';nulls=stripped' : ''}`
      return { name, shape, stripsNulls }
    }
  }
  throw new RestError({
    status: 406,
    code: 'PGRST107',
    message: `None of these media types are available: ${wanted.join(', ')}`,
    hint: 'The local platform answers in JSON.',
  })
}
