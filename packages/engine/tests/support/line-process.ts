import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface LineProcess {
  readonly child: ChildProcess
  /** What it has said so far. */
  readonly lines: readonly string[]
  /** The first line that matches, said already or later; rejects when the process ends without one. */
  line(pattern: RegExp): Promise<string>
  /** Resolves with the exit code when it has ended and all of its lines are there; null after a signal. */
  readonly ended: Promise<number | null>
}

/** Starts a program that speaks in lines. */
export function startLineProcess(command: string, args: readonly string[]): LineProcess {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const each of waiting) each()
    waiting.clear()
  }
  createInterface({ input: child.stdout! }).on('line', (line) => {
    lines.push(line)
    wake()
  })
  let hasEnded = false
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      hasEnded = true
      wake()
      resolve(code)
    })
  })
  return {
    child,
    lines,
    ended,
    async line(pattern) {
      for (;;) {
        const found = lines.find((line) => pattern.test(line))
        if (found !== undefined) return found
        if (hasEnded) throw new Error(`The process ended without a line like ${pattern}: ${lines.join(' | ')}`)
        await new Promise<void>((resolve) => waiting.add(resolve))
      }
    },
  }
}
