import { resolveDenoBinary } from '@starflow/local'
import { COMPILED } from './compiled.ts'

export type Runtime = 'Node' | 'Deno'

/** Command and arguments that run a TypeScript program of this repository; the program's own follow. */
export function runtimeCommand(runtime: Runtime, program: string): [string, ...string[]] {
  if (runtime === 'Node') return [process.execPath, ...COMPILED, program]
  return [
    resolveDenoBinary(),
    ...['run', '--no-prompt', '--cached-only', '--node-modules-dir=manual'],
    ...['--allow-net', '--allow-env', '--allow-sys', '--allow-read'],
    program,
  ]
}
