import { runCommandLine } from '../../src/program.ts'

/** Runs a whole command line and returns what it printed and its exit code. */
export async function starflow(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  const exitCode = await runCommandLine(args, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  })
  return { exitCode, stdout, stderr }
}
