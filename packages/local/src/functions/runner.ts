/**
 * Runs one edge function in a plain Deno process, with the globals and the life cycle of Supabase's edge runtime.
 *
 * The host gives a {@link RunnerConfig} as the only argument, commands as JSON lines on stdin, and reads lines that
 * start with the mark on stdout; all other output is the function's log. When stdin ends the host is gone, and so is
 * this process. Imports nothing, so that no import map can change it. Runs on Deno 2.1 and later.
 */

/** The argument of the runner. */
export interface RunnerConfig {
  /** URL of the function's module. */
  readonly entry: string
  /** Starts each line on stdout that is for the host; unknown to the function. */
  readonly mark: string
  /** Names of the environment variables that the function may see. */
  readonly env: readonly string[]
}

/** Host to runner. `drop` asks to end if no `waitUntil` promise is open; `unload` tells without asking. */
export type RunnerCommand = { readonly command: 'unload'; readonly reason: string } | { readonly command: 'drop' }

/** Runner to host. */
export type RunnerMessage =
  | { readonly is: 'listening'; readonly port: number }
  | { readonly is: 'boot_failed'; readonly message: string; readonly stack: string }
  /** Number of `waitUntil` promises that are not settled; sent when it becomes zero or leaves zero. */
  | { readonly is: 'pending'; readonly pending: number }
  | { readonly is: 'unloaded'; readonly reason: string; readonly pending: number }

/** The part of Deno that is used here, so that this file also type-checks where Deno's types are not installed. */
interface DenoRuntime {
  args: string[]
  readonly env: { toObject(): Record<string, string>; delete(name: string): void }
  readonly stdin: { readonly readable: AsyncIterable<Uint8Array> }
  readonly stdout: { writeSync(bytes: Uint8Array): number }
  serve: (options: object, handler: Handler) => object
  exit: (code?: number) => void
}
type Handler = (request: Request, info?: unknown) => Response | Promise<Response>

const deno = (globalThis as unknown as { Deno: DenoRuntime }).Deno
const config = JSON.parse(deno.args[0]!) as RunnerConfig
const encoder = new TextEncoder()
const serve = deno.serve.bind(deno)
const exit = deno.exit.bind(deno)

let isServing = false
let pending = 0

hideHost()
installGlobals()
void obeyHost()
await loadFunction()

function tell(message: RunnerMessage): void {
  let bytes = encoder.encode(`${config.mark}${JSON.stringify(message)}\n`)
  while (bytes.length > 0) bytes = bytes.subarray(deno.stdout.writeSync(bytes))
}

/** Takes away what is there only because this is a plain Deno process that somebody started. */
function hideHost(): void {
  for (const name of Object.keys(deno.env.toObject())) {
    if (!config.env.includes(name)) deno.env.delete(name)
  }
  Object.defineProperty(deno, 'args', { value: [] })
}

function installGlobals(): void {
  Object.defineProperty(globalThis, 'EdgeRuntime', { value: Object.freeze({ waitUntil }), configurable: true })
  Reflect.deleteProperty(globalThis, 'Worker')
  Object.assign(deno, { serve: serveOnce })
  // The edge runtime has no signals and no way to end by oneself: these calls do nothing there.
  for (const name of ['exit', 'kill', 'addSignalListener', 'removeSignalListener']) {
    Object.assign(deno, { [name]: () => {} })
  }
}

/** Like the edge runtime: takes real promises only, gives its argument back, and leaves rejections unhandled. */
function waitUntil<T>(promise: T): T {
  if (promise instanceof Promise) {
    if (++pending === 1) tell({ is: 'pending', pending })
    const settled = () => {
      if (--pending === 0) tell({ is: 'pending', pending })
    }
    promise.then(settled, settled)
  }
  return promise
}

/** Deno.serve in all its forms. Host and port are the host's choice, and a function has one server. */
function serveOnce(first: Handler | { handler?: Handler; onListen?: unknown }, second?: Handler): object {
  const options = typeof first === 'function' ? {} : first
  const handler = typeof first === 'function' ? first : (second ?? first.handler)
  if (typeof handler !== 'function') throw new TypeError('Deno.serve needs a handler')
  if (isServing) return { finished: Promise.resolve(), shutdown: async () => {}, ref() {}, unref() {} }
  isServing = true
  const onListen = (address: { port: number }) => tell({ is: 'listening', port: address.port })
  return serve({ ...options, handler: undefined, hostname: '127.0.0.1', port: 0, onListen }, handler)
}

async function loadFunction(): Promise<void> {
  try {
    const module = (await import(config.entry)) as { default?: { fetch?: Handler } }
    const service = module.default
    if (!isServing && typeof service?.fetch === 'function') serveOnce((request) => service.fetch!(request))
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    tell({ is: 'boot_failed', message, stack: stack ?? '' })
    exit(1)
  }
}

async function obeyHost(): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of deno.stdin.readable) {
    text += decoder.decode(chunk, { stream: true })
    const lines = text.split('\n')
    text = lines.pop()!
    for (const line of lines) obey(JSON.parse(line) as RunnerCommand)
  }
  exit(0)
}

function obey(command: RunnerCommand): void {
  // Decided here and not by the host: a promise given to waitUntil a moment ago may not have been heard of there.
  if (command.command === 'drop' && pending > 0) return
  const reason = command.command === 'drop' ? 'early_drop' : command.reason
  dispatchEvent(new CustomEvent('beforeunload', { cancelable: true, detail: { reason } }))
  tell({ is: 'unloaded', reason, pending })
}
