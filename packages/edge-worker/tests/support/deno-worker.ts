// EdgeWorker as an edge function has it: in Deno, with the globals of the edge runtime when it is told to, and what its handlers do when
// it is told that. Prints
// "listening PORT" once, ends with its standard input, and takes "beforeunload REASON" lines there.

import { Flow } from '@starflow/dsl'
import { EdgeWorker } from '@starflow/edge-worker'
import { poisonFlow } from './poison-flow.ts'

interface Runtime {
  Deno: {
    serve(options: object, handler: (request: Request) => Promise<Response>): unknown
    args: string[]
    exit(code: number): never
    stdin: { readable: ReadableStream<Uint8Array> }
  }
  EdgeRuntime?: unknown
  dispatchEvent(event: Event): void
}
const runtime = globalThis as unknown as Runtime
const { Deno } = runtime
const [kind, flowSlug = 'inDeno', maxConcurrent = '10'] = Deno.args

let waitedFor = 0
if (kind === 'edge') {
  runtime.EdgeRuntime = {
    waitUntil: (promise: Promise<unknown>) => {
      waitedFor++
      promise.finally(() => {
        if (--waitedFor === 0) console.log('nothing to wait for')
      })
      return promise
    },
  }
}
const serve = Deno.serve
Deno.serve = ((handler: (request: Request) => Promise<Response>) =>
  serve(
    { port: 0, hostname: '127.0.0.1', onListen: ({ port }: { port: number }) => console.log(`listening ${port}`) },
    handler,
  )) as unknown as Runtime['Deno']['serve']

const flow = new Flow<{ n: number; hangsOnce?: boolean }>({ slug: flowSlug })
  .step({ slug: 'double' }, async ({ n, hangsOnce = false }, ctx) => {
    if (hangsOnce && ctx.stepTask.attempt === 1) await new Promise(() => {})
    return n * 2
  })
  .step({ slug: 'query', dependsOn: ['double'] }, async ({ double }, ctx) => {
    if (ctx.env.STARFLOW_TEST_QUERY === 'off') return double
    const [row] = await ctx.sql<{ answer: number }[]>`select ${double}::int + 1 as answer`
    return row!.answer
  })
EdgeWorker.start(kind === 'poison' ? poisonFlow(flowSlug) : flow, {
  maxConcurrent: Number(maxConcurrent),
  batchSize: Number(maxConcurrent),
})

for await (const text of Deno.stdin.readable.pipeThrough(
  new TextDecoderStream() as never,
) as unknown as AsyncIterable<string>) {
  const reason = text.match(/^beforeunload (\w+)/)?.[1]
  if (reason !== undefined) runtime.dispatchEvent(new CustomEvent('beforeunload', { detail: { reason } }))
}
Deno.exit(0)
