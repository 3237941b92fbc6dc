import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { ExitReason } from './functions-event.ts'
import type { Isolate } from './isolate.ts'

/** The answers of the edge runtime for what goes wrong outside the function's own code. */
export const FUNCTION_ANSWERS = {
  bootError: { status: 503, code: 'BOOT_ERROR', message: 'Worker failed to boot (please check logs)' },
  workerError: { status: 500, code: 'WORKER_ERROR', message: 'Function exited due to an error (please check logs)' },
  workerLimit: {
    status: 546,
    code: 'WORKER_LIMIT',
    message: 'Worker failed to respond due to a resource limit (please check logs)',
  },
  idleTimeout: { status: 504, code: 'IDLE_TIMEOUT', message: 'The function did not answer in time' },
} as const

/** `refused`: the isolate took nothing of the request, so that another one may be asked. */
export type ForwardResult = 'answered' | 'refused'

/**
 * Sends a request on to an isolate and its answer back, streaming both. `path` is what the function sees. Answers itself
 * when the isolate dies over the request.
 */
export function forwardRequest(
  isolate: Isolate,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  path: string,
  requestIdleMs: number,
): Promise<ForwardResult> {
  const endRequest = isolate.beginRequest()
  return new Promise<ForwardResult>((resolve) => {
    const upstream = request({
      host: '127.0.0.1',
      port: isolate.port,
      method: incoming.method,
      path,
      headers: forwardedHeaders(incoming),
      // A kept connection could be one that the isolate is closing right now.
      agent: false,
    })
    const idle = setTimeout(() => {
      answer(outgoing, FUNCTION_ANSWERS.idleTimeout)
      upstream.destroy(new Error('idle timeout'))
    }, requestIdleMs)
    let hasConnected = false
    const end = (result: ForwardResult) => {
      clearTimeout(idle)
      endRequest()
      resolve(result)
    }
    // The body starts to flow with the connection, so that a refused request can be sent elsewhere whole.
    upstream.once('socket', (socket) =>
      socket.once('connect', () => {
        hasConnected = true
        incoming.pipe(upstream)
      }),
    )
    upstream.once('response', (response) => {
      clearTimeout(idle)
      outgoing.writeHead(response.statusCode ?? 502, { ...response.headers, 'x-sb-execution-id': isolate.id })
      outgoing.flushHeaders()
      response.pipe(outgoing)
      response.once('error', () => outgoing.destroy())
      response.once('close', () => {
        if (!response.complete) outgoing.destroy()
        end('answered')
      })
    })
    upstream.on('error', async () => {
      clearTimeout(idle)
      const isOver = outgoing.writableEnded || outgoing.destroyed
      if (isOver) return end('answered')
      if (!hasConnected) return end('refused')
      const reason = await exitReasonSoon(isolate)
      answer(outgoing, isOfHost(reason) ? FUNCTION_ANSWERS.workerLimit : FUNCTION_ANSWERS.workerError)
      end('answered')
    })
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) upstream.destroy(new Error('the caller is gone'))
    })
  })
}

/** Answers in the form of the edge runtime, unless an answer has begun. */
export function answer(
  outgoing: ServerResponse,
  { status, code, message }: { status: number; code: string; message: string },
): void {
  if (outgoing.headersSent) {
    outgoing.destroy()
    return
  }
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ code, message }))
}

function forwardedHeaders(incoming: IncomingMessage): Record<string, string | string[] | undefined> {
  const { connection: _, 'keep-alive': __, upgrade: ___, ...headers } = incoming.headers
  return {
    ...headers,
    'x-forwarded-for': incoming.socket.remoteAddress,
    'x-forwarded-host': incoming.headers.host,
    'x-forwarded-proto': 'http',
  }
}

/** The connection breaks a moment before the end of the process is known; a living process that broke it is an error. */
function exitReasonSoon(isolate: Isolate): Promise<ExitReason> {
  const given = new Promise<ExitReason>((resolve) => setTimeout(() => resolve('error'), 1_000).unref())
  return Promise.race([isolate.exited, given])
}

function isOfHost(reason: ExitReason): boolean {
  return reason !== 'error' && reason !== 'killed'
}
