// Runs a command, and ends it when the pipe on standard input closes: because whoever started this wants that, or because it is
// gone, killed even. A deploy must not outlive the rollout that answers for it. Nor must it outlive one that is stopped (Ctrl-Z):
// each line on standard input tells for how many ms the command may still run. The process is started as the leader of a group of
// its own, so that also what the command itself has started is ended.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** As long as a command gets to end by itself. The hold of a fence outlives it (fence-hold.ts). */
const GRACE_MS = 5000
const LOOK_EVERY_MS = 100

let isEnding = false
const [program, ...args] = process.argv.slice(2)
const command = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
command.once('error', (error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(127)
})
command.once('exit', (exitCode, signal) => {
  if (isEnding) setInterval(() => isAlone() && endAs(exitCode, signal), LOOK_EVERY_MS)
  else endAs(exitCode, signal)
})

// Meant for the command, which gets it from below, as the others of its group do.
process.on('SIGTERM', () => {})
let expiry
let unfinished = ''
process.stdin.setEncoding('utf8').on('data', (text) => {
  const lines = (unfinished + text).split('\n')
  unfinished = lines.pop()
  if (lines.length === 0) return
  clearTimeout(expiry)
  expiry = setTimeout(end, Number(lines.at(-1)))
})
process.stdin.once('error', () => {})
process.stdin.once('close', end)

function end() {
  if (isEnding) return
  isEnding = true
  process.kill(-process.pid, 'SIGTERM')
  setTimeout(() => process.kill(-process.pid, 'SIGKILL'), GRACE_MS)
}

function endAs(exitCode, signal) {
  if (signal === null) process.exit(exitCode)
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, signal)
}

/** Whether nobody else of the group is left. Where no /proc tells it they get their whole time. */
function isAlone() {
  try {
    return readdirSync('/proc').every((name) => !/^\d+$/.test(name) || Number(name) === process.pid || !isOfGroup(name))
  } catch {
    return false
  }
}

function isOfGroup(pid) {
  try {
    const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return state !== 'Z' && Number(group) === process.pid
  } catch {
    // It has ended meanwhile.
    return false
  }
}
