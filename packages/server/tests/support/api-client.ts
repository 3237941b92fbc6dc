import type { Json } from '@starflow/dsl'

export interface Answer {
  readonly status: number
  // The body of whatever was asked: a test says what it expects of it.
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at it from all sides
  readonly body: any
  readonly headers: Headers
}

/** Sends requests to a server as one caller. */
export class ApiClient {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(url: string, token: string | undefined, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url
    this.#headers = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers }
  }

  /** The same caller with more headers. */
  with(headers: Readonly<Record<string, string>>): ApiClient {
    return new ApiClient(this.#url, undefined, { ...this.#headers, ...headers })
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path)
  }

  post(path: string, body: Json = {}): Promise<Answer> {
    return this.send('POST', path, body)
  }

  async send(method: string, path: string, body?: Json): Promise<Answer> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, body: await bodyOf(response) }
  }

  /** The events of a stream until it ends, or until `enough` says so. */
  async stream(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    enough: (events: readonly StreamedEvent[]) => boolean = () => false,
  ): Promise<StreamedEvent[]> {
    const response = await fetch(`${this.#url}${path}`, {
      headers: { ...this.#headers, ...headers, accept: 'text/event-stream' },
    })
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    const events: StreamedEvent[] = []
    let text = ''
    const decoder = new TextDecoder()
    // The cast: Node's streams can be iterated, which the types of browsers do not know.
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = parse(text.slice(0, end))
        text = text.slice(end + 2)
        if (event !== undefined) events.push(event)
      }
      // Leaving the loop hangs up.
      if (enough(events)) return events
    }
    return events
  }
}

export interface StreamedEvent {
  readonly id: string | undefined
  readonly event: string
  /** JSON, or a text that is none. */
  readonly data: Record<string, unknown>
  readonly text: string
}

/** Of a stream what comes at once. */
async function bodyOf(response: Response): Promise<unknown> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return await response.json()
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return value
}

function parse(block: string): StreamedEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s) as [string, string]))
  const event = fields.get('event')
  if (event === undefined) return undefined
  const text = fields.get('data') ?? '{}'
  return { id: fields.get('id'), event, text, data: text.startsWith('{') ? JSON.parse(text) : {} }
}
