import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { StarflowError } from '@starflow/errors'
import type { Confirmations } from '../operations/fence-hold.ts'

/** A command that deploys: a program with its arguments, run without a shell. */
export interface DeployCommand {
  readonly program: string
  readonly args: readonly string[]
  /** Variables beside the own environment. */
  readonly env?: Readonly<Record<string, string>>
}

export interface RunCommandOptions {
  readonly cwd: string
  /** Each line that the command prints, of both streams. */
  readonly onLine: (line: string) => void
  /** Ends the command: with SIGTERM, and with SIGKILL what is left 5 s later. */
  readonly signal: AbortSignal
  /** Ends the command in the same way when none comes in time: this process may be stopped and end nothing itself. */
  readonly confirmations: Confirmations
}

const KEPT_LINES = 20
/** Later than the guard does it: should that be gone or stopped. The hold of a fence outlives this too (fence-hold.ts). */
const KILL_AFTER_MS = 6000
/** How long the output of a command that has ended may stay open: a process that has left its group may hold it open without end. */
const CLOSE_WITHIN_MS = 1000
/** Ends the command also when this process is killed. */
const GUARD = fileURLToPath(new URL('../../bin/guarded-command.mjs', import.meta.url))

/**
 * Runs a deploy command to its end, and with it all that it has started: none of it outlives this process by more than 5 s.
 *
 * @throws StarflowError SF634 when it cannot be started or does not end with exit code 0
 */
export async function runCommand(command: DeployCommand, options: RunCommandOptions): Promise<void> {
  options.signal.throwIfAborted()
  const lines: string[] = []
  const outcome = await new Promise<{ exitCode: number | null; signal: string | null; error?: Error }>((resolve) => {
    const child = spawn(process.execPath, [GUARD, command.program, ...command.args], {
      cwd: options.cwd,
      env: { ...process.env, ...command.env },
      stdio: 'pipe',
      detached: true,
    })
    // It may be gone already.
    child.stdin.on('error', () => {})
    const stopTelling = options.confirmations.listen((leftMs) => child.stdin.write(`${Math.round(leftMs)}\n`))
    let killing: NodeJS.Timeout | undefined
    let closing: NodeJS.Timeout | undefined
    const stop = () => {
      stopTelling()
      child.stdin.end()
      killing = setTimeout(() => killGroup(child.pid), KILL_AFTER_MS)
    }
    options.signal.addEventListener('abort', stop, { once: true })
    for (const stream of [child.stdout, child.stderr]) {
      eachLine(stream, (line) => {
        lines.push(line)
        if (lines.length > KEPT_LINES) lines.shift()
        options.onLine(line)
      })
    }
    const settle = (ended: { exitCode: number | null; signal: string | null; error?: Error }) => {
      options.signal.removeEventListener('abort', stop)
      stopTelling()
      clearTimeout(killing)
      clearTimeout(closing)
      resolve(ended)
    }
    child.once('exit', (exitCode, signal) => {
      // The guard ends all that it started, unless it was killed itself.
      killGroup(child.pid)
      closing = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
        settle({ exitCode, signal })
      }, CLOSE_WITHIN_MS)
    })
    child.once('error', (error) => settle({ exitCode: null, signal: null, error }))
    child.once('close', (exitCode, signal) => settle({ exitCode, signal }))
  })
  if (outcome.exitCode === 0) return
  throw new StarflowError({
    code: 'SF634',
    message: `The deploy command failed: ${commandText(command)}`,
    detail:
      outcome.error?.message ??
      [`It ended with ${outcome.signal ?? `exit code ${outcome.exitCode}`}.`, ...lines].join('\n'),
    hint: 'Mend what it complains about and run this again.',
    fields: { exitCode: outcome.exitCode },
  })
}

/** The command as a person would type it. */
export function commandText({ program, args }: DeployCommand): string {
  return [program, ...args]
    .map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`))
    .join(' ')
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // Nobody of it is left.
  }
}

function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const parts = (rest + text).split(/\r?\n|\r/)
    rest = parts.pop() ?? ''
    for (const line of parts) if (line.trim() !== '') onLine(line)
  })
  stream.on('end', () => {
    if (rest.trim() !== '') onLine(rest)
  })
}
