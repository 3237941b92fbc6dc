// Runs a command, and ends it when the pipe on standard input closes: because whoever started this wants that, or because it is
// gone, killed even. A deploy must not outlive the rollout that answers for it. The process is started as the leader of a group
// of its own, so that also what the command itself has started is ended.
import { spawn } from 'node:child_process'

/** As long as a command gets to end by itself. The hold of a fence outlives it (fence-hold.ts). */
const GRACE_MS = 5000

const [program, ...args] = process.argv.slice(2)
const command = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
command.once('error', (error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(127)
})
command.once('exit', (exitCode, signal) => {
  if (signal === null) process.exit(exitCode)
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, signal)
})

// Meant for the command, which gets it from below, as the others of its group do.
process.on('SIGTERM', () => {})
process.stdin.resume()
process.stdin.once('error', () => {})
process.stdin.once('close', () => {
  process.kill(-process.pid, 'SIGTERM')
  setTimeout(() => process.kill(-process.pid, 'SIGKILL'), GRACE_MS)
})
