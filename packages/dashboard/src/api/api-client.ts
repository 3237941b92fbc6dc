import createClient from 'openapi-fetch'
import { refusalOf } from './api-error.ts'
import type { paths } from './schema.d.ts'
import { serverClock } from './server-clock.ts'

/** With the cookie of a sign-in, this shows the server that no other site sends the request. */
const REQUEST_HEADER = { 'starflow-request': '1' }

/** The API of the server that served this page, typed by its description. Read answers with {@link answerOf}. */
export const api = createClient<paths>({ baseUrl: '/', headers: REQUEST_HEADER })

interface Answer<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/**
 * What an endpoint answers when all is well.
 *
 * @throws ApiError what it refuses, TypeError when nothing answers
 */
export async function answerOf<T>(request: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await request
  serverClock.observe(response.headers.get('date'))
  if (!response.ok || data === undefined) throw refusalOf(response.status, error)
  return data
}
