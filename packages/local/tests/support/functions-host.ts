import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { FunctionsEvent } from '../../src/functions/functions-event.ts'
import { FunctionsHost, type FunctionsHostOptions } from '../../src/functions/functions-host.ts'
import { Gateway } from '../../src/platform/gateway.ts'
import { EventLog } from './event-log.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** A functions host behind a gateway, with these files below `functions/`; all of it ends with the test. */
export async function startFunctions(
  files: Readonly<Record<string, string>>,
  options: Partial<FunctionsHostOptions> | ((folder: string) => Partial<FunctionsHostOptions>) = {},
) {
  const folder = temporaryFolder(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [join('functions', path), text])),
  )
  const log = new EventLog<FunctionsEvent>()
  const host = new FunctionsHost({
    functionsDir: join(folder, 'functions'),
    denoDir: join(tmpdir(), 'starflow-test-deno'),
    onEvent: log.record,
    // The same tests hold on Deno 2.1, the line of the edge runtime.
    ...(process.env.STARFLOW_TEST_DENO === undefined ? {} : { deno: process.env.STARFLOW_TEST_DENO }),
    ...(typeof options === 'function' ? options(folder) : options),
  })
  const gateway = new Gateway({ functions: () => host, health: () => ({ status: 'ok' }) })
  const api = await gateway.start()
  host.start()
  onTestFinished(async () => {
    await host.stop()
    await gateway.stop()
  })
  const url = `http://127.0.0.1:${api}`
  return {
    host,
    log,
    folder,
    url,
    /** Calls a function; `path` starts with its name. */
    call: (path: string, init?: RequestInit) => fetch(`${url}/functions/v1/${path}`, init),
  }
}
