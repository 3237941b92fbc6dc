/** The rest of a service's path as a URL, whose host says nothing. */
export function urlOf(rest: string): URL {
  return new URL(rest.replace(/^\/*/, '/'), 'http://localhost')
}
