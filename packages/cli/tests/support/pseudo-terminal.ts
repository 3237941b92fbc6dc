import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, vi } from 'vitest'

export interface TerminalOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** What a person sees of a program that runs in a terminal, and what they can do to it. */
export class PseudoTerminal {
  readonly #child: ChildProcess
  readonly #closed: Promise<number | null>
  #output = ''

  /** Runs Node with `args` in a terminal of its own, by `script`, which Linux and macOS have. */
  constructor(args: readonly string[], { cwd, env = {} }: TerminalOptions) {
    const command = [process.execPath, ...args]
    const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
    // `exec`, so that the shell is not in between.
    const own =
      process.platform === 'darwin' ? ['-q', '/dev/null', ...command] : ['-qfec', `exec ${quoted}`, '/dev/null']
    this.#child = spawn('script', own, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
    })
    this.#closed = once(this.#child, 'close').then(([code]) => code as number | null)
  }

  get output(): string {
    return this.#output
  }

  /** Waits until the program has written a text. */
  async shows(text: string): Promise<void> {
    await vi.waitUntil(() => this.#output.includes(text) || this.#child.exitCode !== null, {
      timeout: 60_000,
      interval: 20,
    })
    expect(this.#output).toContain(text)
  }

  /** Presses keys. `CTRL.c` and the like are among them. */
  type(keys: string): void {
    this.#child.stdin?.write(keys)
  }

  /** The exit code of the program. */
  async ended(): Promise<number | null> {
    return await this.#closed
  }

  /** In case a test did not come to its end. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

export const CTRL = { c: '\x03', d: '\x04' } as const
