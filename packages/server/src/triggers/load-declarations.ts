import { existsSync, readFileSync } from 'node:fs'
import { StarflowError } from '@starflow/errors'
import { checkDeclarations, type DeclarationContext } from './check-declarations.ts'
import { type Declarations, NO_DECLARATIONS } from './declarations.ts'
import { invalidDeclarations, type ReadDeclarations, readDeclarations } from './read-declarations.ts'

/** Read where no other file is named. */
const DECLARATIONS_FILE = 'starflow.yaml'

/**
 * What a file declares, checked as a whole. Without a name it is starflow.yaml of the working directory, which need not be there.
 *
 * @throws StarflowError SF920 with every problem of the file
 */
export async function loadDeclarations(file: string | undefined, context: DeclarationContext): Promise<Declarations> {
  if (file === undefined && !existsSync(DECLARATIONS_FILE)) return NO_DECLARATIONS
  const path = file ?? DECLARATIONS_FILE
  const read = readDeclarationsFile(path)
  const problems = [...read.problems, ...(await checkDeclarations(read, context))]
  if (problems.length > 0 || read.declarations === undefined) throw invalidDeclarations(path, problems)
  return read.declarations
}

/** @throws StarflowError SF920 for a file that cannot be read */
export function readDeclarationsFile(path: string): ReadDeclarations {
  try {
    return readDeclarations(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new StarflowError({
      code: 'SF920',
      message: `${path} cannot be read.`,
      detail: (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'It does not exist.' : 'It cannot be opened.',
      hint: 'Name the file that declares triggers in STARFLOW_CONFIG_FILE, or leave that unset.',
      cause,
    })
  }
}
