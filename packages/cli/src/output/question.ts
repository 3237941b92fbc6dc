import { createInterface } from 'node:readline/promises'
import { CommandEnded } from './command-ended.ts'
import { EXIT_CODES } from './exit-codes.ts'
import type { Output } from './output.ts'
import { untilInterrupted } from './until-interrupted.ts'

/** True where a person can be asked. */
export function canAsk(output: Output): boolean {
  return output.isInteractive && process.stdin.isTTY === true
}

/**
 * Asks a person for one line, without the spaces around it. Undefined where nobody can be asked, and where the input ends
 * without an answer (Ctrl-D).
 *
 * Ctrl-C and the signals of {@link untilInterrupted} end the question, and the command with it: it rejects with
 * {@link CommandEnded}. A command that watches for them already gives its `interrupted`.
 */
export async function ask(output: Output, question: string, interrupted?: AbortSignal): Promise<string | undefined> {
  if (!canAsk(output)) return undefined
  const interruption = interrupted === undefined ? untilInterrupted() : undefined
  const signal = interrupted ?? interruption!.signal
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  // While it is asked the terminal gives Ctrl-C to the question, not to the process.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const inputEnded = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)))
  try {
    const answer = await Promise.race([terminal.question(question, { signal }), inputEnded])
    return answer?.trim()
  } catch (error) {
    if (signal.aborted) throw new CommandEnded(EXIT_CODES.interrupted)
    // Later versions of Node reject the question when its input ends.
    if ((error as Error).name === 'AbortError') return undefined
    throw error
  } finally {
    terminal.close()
    interruption?.release()
  }
}

/** True for a yes; what else is answered, and that nobody answers, is a no. */
export async function askYesOrNo(output: Output, question: string, interrupted?: AbortSignal): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(output, `${question} [y/N] `, interrupted)) ?? '')
}
