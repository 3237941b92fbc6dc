/** What the exit code of `starflow` says. */
export const EXIT_CODES = {
  ok: 0,
  /** The command was understood and refused or failed, or a `--check` found a difference. */
  failed: 1,
  /** The command line itself is wrong: an unknown command, a missing or bad option. */
  usage: 2,
  /** Not an end: the run waits for somebody. */
  waiting: 3,
  /** A defect of Starflow: please report it. */
  bug: 70,
  /** Ended by Ctrl-C, as a shell reports it. */
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]
