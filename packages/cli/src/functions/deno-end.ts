import { setTimeout as pause } from 'node:timers/promises'

/** How a process of Deno ended, and what it had written. */
export interface DenoEnd {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

const SHOWN_LINES = 6
const PAUSE_MS = 1_000

/** What ends a process that has done nothing to deserve it: its own alarm, or the kernel's where memory is short. */
const CRASH_SIGNALS: readonly (NodeJS.Signals | null)[] = [
  'SIGABRT',
  'SIGBUS',
  'SIGILL',
  'SIGKILL',
  'SIGSEGV',
  'SIGTRAP',
]
const CRASH_TEXT = /^# Fatal |^Fatal .*out of memory|has panicked|panicked at |^memory allocation of \d+ bytes failed/m

/** Frames of a program without names, and what frames them: a screenful without information. */
const NAMELESS_LINE =
  /^\s*(#|\d+: +(<unknown>|0x[0-9a-f]+).*|at <unknown>.*|stack backtrace:|=+ C stack trace =+|.*\(\+0x[0-9a-f]+\) \[0x.*)?\s*$/

/** Deno itself broke down, which says nothing of what it was to run: on a busy computer memory or threads were short. */
export function hasCrashed({ exitCode, signal, stderr }: DenoEnd): boolean {
  return CRASH_SIGNALS.includes(signal) || (exitCode !== 0 && CRASH_TEXT.test(stderr))
}

/** Runs Deno, and once more where it broke down: most often that was of the moment. */
export async function runTwiceAtMost(run: () => Promise<DenoEnd>, pauseMs = PAUSE_MS): Promise<DenoEnd> {
  const end = await run()
  if (!hasCrashed(end)) return end
  await pause(pauseMs)
  return await run()
}

/** How it ended, with the first and the last of what it said about that. */
export function describeDenoEnd({ exitCode, signal, stderr }: DenoEnd): string {
  const lines = stderr.split('\n').filter((line) => !NAMELESS_LINE.test(line))
  const shown =
    lines.length <= SHOWN_LINES * 2 ? lines : [...lines.slice(0, SHOWN_LINES), '…', ...lines.slice(-SHOWN_LINES)]
  const how = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`
  return `Deno ${how}: ${shown.join('\n').trim() || '(no output)'}`
}
