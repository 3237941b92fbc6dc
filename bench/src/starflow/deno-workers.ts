// The workers in a Deno process. Speaks lines of JSON: says `{"ready":true}` and what has ended; told `report`, it gives what
// it counted; told `stop`, or when its standard input ends, it stops.
import { Progress } from '../measure/progress.ts'
import { workerHost } from './worker-host.ts'

interface DenoGlobals {
  readonly Deno: {
    readonly env: { get(name: string): string | undefined }
    readonly stdin: { readonly readable: ReadableStream<Uint8Array> }
    readonly stdout: { writeSync(bytes: Uint8Array): number }
    exit(code: number): never
  }
}
const { Deno } = globalThis as unknown as DenoGlobals
const TELL_EVERY_MS = 5

const progress = new Progress()
const host = workerHost({
  databaseUrl: Deno.env.get('BENCH_DATABASE_URL')!,
  maxConcurrent: Number(Deno.env.get('BENCH_MAX_CONCURRENT')),
  batchSize: Number(Deno.env.get('BENCH_MAX_CONCURRENT')),
  progress,
})
const encoder = new TextEncoder()
const say = (message: object) => Deno.stdout.writeSync(encoder.encode(`${JSON.stringify(message)}\n`))

let told = { steps: 0, runs: 0 }
setInterval(() => {
  const { steps, runs } = progress
  if (steps === told.steps) return
  say({ steps: steps - told.steps, runs: runs - told.runs })
  told = { steps, runs }
}, TELL_EVERY_MS)

await host.start()
say({ ready: true })
for await (const text of Deno.stdin.readable.pipeThrough(
  new TextDecoderStream() as never,
) as unknown as AsyncIterable<string>) {
  if (text.includes('report')) {
    const counts = { ...host.counts }
    say({ report: { handOffs: progress.handOffs, ...counts } })
    Object.assign(host.counts, { calls: 0, settlingCalls: 0, settledTasks: 0 })
    progress.reset()
    told = { steps: 0, runs: 0 }
  }
  if (text.includes('stop')) break
}
await host.stop()
Deno.exit(0)
