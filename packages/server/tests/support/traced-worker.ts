// A worker in Deno, traced as docs/operations/tracing.md says. Prints the port that it listens on, and ends with its standard input.
import '@starflow/tracing/register'
import { trace } from '@opentelemetry/api'
import { EdgeWorker } from '@starflow/edge-worker'
import { parcels } from './parcels.ts'

type Serve = (options: object, handler: (request: Request) => Promise<Response>) => unknown
const { Deno } = globalThis as unknown as {
  Deno: { serve: Serve; stdin: { readable: ReadableStream<Uint8Array> }; exit(code: number): never }
}

const { serve } = Deno
const onListen = ({ port }: { readonly port: number }) => console.log(`listening ${port}`)
Deno.serve = ((handler: Parameters<Serve>[1]) => serve({ port: 0, hostname: '127.0.0.1', onListen }, handler)) as Serve

EdgeWorker.start(
  parcels((work) => trace.getTracer('of the user').startActiveSpan('look at the parcel', work)),
  { maxConcurrent: 2 },
)

for await (const _ of Deno.stdin.readable as unknown as AsyncIterable<Uint8Array>);
Deno.exit(0)
