// Runs a command, and ends it when the pipe on standard input closes: because whoever started this wants that, or because it is
// gone, killed even. A deploy must not outlive the rollout that answers for it. Nor must it outlive one that is stopped (Ctrl-Z):
// each line on standard input tells for how many ms the command may still run. The process is started as the leader of a group of
// its own, so that what the command itself has started is ended too, also where the command has ended and left it behind.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** As long as a command gets to end by itself. The hold of a fence outlives it (fence-hold.ts). */
const GRACE_MS = 5000
const LOOK_EVERY_MS = 100
const SIGTERM_EXIT_CODE = 143
const canSeeOthers = existsSync('/proc/self/stat')

let isEnding = false
let hasEnded = false
const [program, ...args] = process.argv.slice(2)
const command = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
command.once('error', (error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(127)
})
command.once('exit', (exitCode, signal) => {
  // One that was told to end has not succeeded, whatever it says itself.
  const outcome = isEnding && exitCode === 0 ? SIGTERM_EXIT_CODE : exitCode
  const look = () => others().length === 0 && endAs(outcome, signal)
  look()
  if (!canSeeOthers && !isEnding) endAs(outcome, signal)
  hasEnded = true
  end()
  setInterval(look, LOOK_EVERY_MS)
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
  setTimeout(kill, GRACE_MS)
}

/** All of the group, and this one with them, or only what the command has left behind. */
function kill() {
  if (!hasEnded || !canSeeOthers) process.kill(-process.pid, 'SIGKILL')
  for (const pid of others()) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
}

function endAs(exitCode, signal) {
  if (signal === null) process.exit(exitCode)
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, signal)
}

/** Who else of the group is left. Where no /proc tells it there is always somebody, who gets the whole time. */
function others() {
  if (!canSeeOthers) return [process.pid]
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && isOfGroup(name))
    .map(Number)
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
