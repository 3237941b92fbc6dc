// Runs `starflow run` in a process of its own and watches it: a handler that never yields blocks the thread on which signals and
// timeouts are looked at, so that only another process can end it. The command tells that it lives once a second, and how long its
// steps may take (src/output/run-guard.ts). One that says nothing is ended by a signal that it would have acted on, or once it has
// been silent for longer than any of its steps may take.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const LOOK_EVERY_MS = 250
/** Told once a second: after so long the thread is blocked. */
const SILENT_MS = 3000
/** As long as a signal is the same wish, told twice by a terminal and by npm (until-interrupted.ts). */
const SAME_WISH_MS = 500
const INTERRUPTED = 130

const command = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  env: { ...process.env, STARFLOW_RUN_GUARD: '1' },
})
command.once('error', (error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
})

const parent = process.ppid
let limits
let heardAt = Date.now()
let lookedAt = heardAt
let firstWishAt
let killedAs
command.on('message', (message) => {
  heardAt = Date.now()
  if (typeof message === 'object') limits = message
  else if (message === 'over') limits = undefined
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    // A terminal tells the whole group; a second telling within half a second counts once.
    command.kill(signal)
    if (firstWishAt !== undefined && Date.now() - firstWishAt >= SAME_WISH_MS) {
      setTimeout(() => kill(INTERRUPTED), SAME_WISH_MS)
    }
    firstWishAt ??= Date.now()
  })
}
command.once('exit', (code, signal) => {
  clearInterval(timer)
  process.exit(killedAs ?? code ?? 128 + constants.signals[signal])
})

const timer = setInterval(() => {
  const now = Date.now()
  // This process was stopped, or the computer slept: the command was silent for the same reason.
  if (now - lookedAt > SILENT_MS) heardAt = now
  lookedAt = now
  const silentMs = now - heardAt
  if (firstWishAt === undefined && process.env.npm_command !== undefined && process.ppid !== parent) {
    firstWishAt = now
    command.kill('SIGTERM')
  }
  if (limits === undefined || silentMs < SILENT_MS) return
  const after = limits.longestTimeoutSeconds * 1000 + SILENT_MS
  if (firstWishAt !== undefined && now - firstWishAt >= SILENT_MS) kill(INTERRUPTED)
  else if (silentMs > after) kill(1)
}, LOOK_EVERY_MS)

function kill(exitCode) {
  if (killedAs !== undefined) return
  killedAs = exitCode
  if (limits !== undefined && Date.now() - heardAt >= SILENT_MS) {
    const seconds = Math.round((Date.now() - heardAt) / 1000)
    const after = limits.isKept
      ? `Nothing of what was kept is lost.\nGo on with the run once its lease is over: npx starflow run --resume ${limits.runId}\n`
      : 'Its run was kept in memory only, and is gone.\n'
    process.stderr.write(`A handler has not yielded for ${seconds} s, and its process is ended. ${after}`)
  }
  command.kill('SIGKILL')
}
