import type { ExitCode } from './exit-codes.ts'

/** Ends a command with an exit code when everything that is to be said has been said. */
export class CommandEnded extends Error {
  override readonly name = 'CommandEnded'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode) {
    super(`ended with exit code ${exitCode}`)
    this.exitCode = exitCode
  }
}
