import { isStarflowError, StarflowError } from '@starflow/errors'

/** The file that runs are kept in cannot be opened, read or written (SF821). */
export class StateFileError extends StarflowError {
  readonly path: string

  /** isPassing: the same call may succeed later, without a change to the file or the code. */
  constructor(parts: {
    path: string
    reason: string
    detail: string
    hint: string
    isPassing?: boolean
    cause?: unknown
  }) {
    const { path, reason, detail, hint, isPassing = false, cause } = parts
    super({
      code: 'SF821',
      message: `The state file ${path} cannot be used: ${reason}.`,
      detail,
      hint,
      fields: { path, isPassing },
      cause,
    })
    this.path = path
  }
}

/** What SQLite or the file system threw, as a refusal that names the file; a refusal of ours stays what it is. */
export function stateFileError(path: string, cause: unknown): StarflowError {
  if (isStarflowError(cause)) return cause
  const text = cause instanceof Error ? cause.message : String(cause)
  const known = KNOWN_CAUSES.find(({ pattern }) => pattern.test(`${codeOf(cause)} ${text}`))
  return new StateFileError({
    path,
    reason: known?.reason ?? 'SQLite failed',
    detail: `${isOfFileSystem(cause) ? 'The file system' : 'SQLite'} says: ${text}.`,
    hint: known?.hint ?? 'Look at the file and the disk it is on.',
    isPassing: known?.isPassing ?? false,
    cause,
  })
}

const KNOWN_CAUSES: readonly {
  readonly pattern: RegExp
  readonly reason: string
  readonly hint: string
  readonly isPassing?: true
}[] = [
  {
    pattern: /NOTADB|not a database/i,
    reason: 'it is no SQLite database',
    hint: 'Put it aside, or name another file in STARFLOW_SQLITE_PATH.',
  },
  {
    pattern: /CORRUPT|malformed/i,
    reason: 'it is damaged',
    hint: 'Restore a copy, or put it aside with its -wal and -shm files.',
  },
  {
    pattern: /BUSY|LOCKED|locked/,
    reason: 'another process has locked it for too long',
    isPassing: true,
    hint: 'Look for a process that stands still in the middle of a write: a debugger, a backup, a database browser.',
  },
  {
    pattern: /FULL|ENOSPC/,
    reason: 'the disk is full',
    isPassing: true,
    hint: 'Make room on the disk. Nothing of what was kept is lost.',
  },
  {
    pattern:
      /EACCES|EPERM|EROFS|READONLY|CANTOPEN|ENOENT|ENOTDIR|EISDIR|EEXIST|ELOOP|ENAMETOOLONG|unable to open|ConnectionFailed/i,
    reason: 'it cannot be opened for writing',
    hint: 'Give the process the right to write the file and its folder, or name another file in STARFLOW_SQLITE_PATH.',
  },
]

/** Of a call of the operating system that Node made itself. */
function isOfFileSystem(cause: unknown): boolean {
  return typeof cause === 'object' && cause !== null && 'syscall' in cause
}

function codeOf(cause: unknown): string {
  const code = typeof cause === 'object' && cause !== null ? (cause as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : ''
}
