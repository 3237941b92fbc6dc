import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inject, onTestFinished } from 'vitest'
import { DATABASE_PLACEHOLDER } from '../../../../tests/support/test-server.ts'
import { Ticker, type TickerOptions } from '../../src/ticker/ticker.ts'
import type { TickerEvent } from '../../src/ticker/ticker-event.ts'
import { EventLog } from './event-log.ts'

/** A ticker on a test database that stops with the test. */
export function startTicker(databaseName: string, options: Partial<TickerOptions> = {}) {
  const { urls } = inject('testServer')
  const urlOf = (role: string) =>
    Object.hasOwn(urls, role) ? urls[role as keyof typeof urls].replace(DATABASE_PLACEHOLDER, databaseName) : undefined
  const log = new EventLog<TickerEvent>()
  const ticker = new Ticker({
    adminUrl: urlOf('supabase_admin')!,
    urlOf,
    onEvent: log.record,
    intervalMs: 100,
    ...options,
  })
  ticker.start()
  onTestFinished(() => ticker.stop())
  return { ticker, log }
}

/** An HTTP server that keeps the path and body of each request; `answer` decides what it says. */
export async function startReceiver(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end('fine'),
) {
  const received: { path: string; body: string; headers: IncomingMessage['headers'] }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ path: request.url!, body, headers: request.headers })
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}
