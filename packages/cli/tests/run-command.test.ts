import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { isAlive } from '../../../tests/support/is-alive.ts'
import { runCommand } from '../src/deploy/run-command.ts'
import type { Confirmations } from '../src/operations/fence-hold.ts'

const GUARD = fileURLToPath(new URL('../bin/guarded-command.mjs', import.meta.url))
const ALWAYS: Confirmations = {
  listen: (tell) => {
    tell(60_000)
    return () => {}
  },
}
const STUBBORN = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`
const TELL = 'console.log(process.pid, process.ppid)'

/** Runs a script of Node, behind a shell as npm starts it; `onBegun` gets what it prints: its id, and its parent's. */
function run(
  script: string,
  onBegun: (pid: number, parent: number, end: () => void) => void,
  { isBehindShell = true, confirmations = ALWAYS } = {},
) {
  const node = [process.execPath, '-e', script] as const
  const [program, ...args] = isBehindShell ? ['sh', '-c', '"$0" "$@"; exit $?', ...node] : node
  const controller = new AbortController()
  return runCommand(
    { program, args },
    {
      cwd: process.cwd(),
      signal: controller.signal,
      confirmations,
      onLine: (line) => {
        const [pid, parent] = line.split(' ').map(Number)
        onBegun(pid!, parent!, () => controller.abort())
      },
    },
  )
}

describe.concurrent('a deploy command', () => {
  test('takes with it, when whoever started it is gone, also what does not listen and has lost its parent', async () => {
    const args = [GUARD, 'sh', '-c', '"$0" "$@"; exit $?', process.execPath, '-e', `${STUBBORN} ${TELL}`]
    const guard = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
    const [begun] = await once(guard.stdout!, 'data')
    guard.stdin!.destroy()
    await once(guard, 'close')
    await vi.waitUntil(() => !isAlive(Number.parseInt(String(begun), 10)), { timeout: 60_000 })
  })

  test('whose guard does not listen either is killed all the same', async () => {
    let begun = 0
    const running = run(
      `${STUBBORN} ${TELL}`,
      (pid, guard, end) => {
        begun = pid
        process.kill(guard, 'SIGSTOP')
        end()
      },
      { isBehindShell: false },
    )
    await expect(running).rejects.toMatchObject({ code: 'SF634' })
    await vi.waitUntil(() => !isAlive(begun), { timeout: 60_000 })
  })

  test('is ended when its rollout no longer confirms that it is at work, and not before', async () => {
    let begun = 0
    let confirmed = 0
    const confirmations: Confirmations = {
      listen: (tell) => {
        tell(60_000)
        const beat = setInterval(() => {
          if (begun === 0) return
          tell(confirmed++ < 3 ? 60_000 : 1)
        }, 20)
        return () => clearInterval(beat)
      },
    }
    const running = run(
      `setInterval(() => {}, 1000); ${TELL}`,
      (pid) => {
        begun = pid
      },
      { confirmations },
    )
    await expect(running).rejects.toMatchObject({ code: 'SF634', detail: expect.stringMatching(/SIG(TERM|KILL)/) })
    expect(confirmed).toBeGreaterThan(3)
    await vi.waitUntil(() => !isAlive(begun), { timeout: 60_000 })
  })

  test('that ends itself and leaves something behind takes that with it, and has succeeded', async () => {
    let left = 0
    const leaving = `require('node:child_process').spawn(process.execPath, ['-e', \`${STUBBORN} ${TELL}\`], { stdio: 'inherit' })
      .once('spawn', () => setTimeout(() => process.exit(0), 1000))`
    await run(leaving, (pid) => {
      left = pid
    })
    expect(left).toBeGreaterThan(0)
    await vi.waitUntil(() => !isAlive(left), { timeout: 60_000 })
  })

  test('that was told to end has not succeeded, also when it says so itself', async () => {
    const polite = `process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000); ${TELL}`
    const running = run(polite, (_pid, _parent, end) => end(), { isBehindShell: false })
    await expect(running).rejects.toMatchObject({ code: 'SF634', detail: expect.stringContaining('143') })
  })
})

test('a deploy command that is not there says so', async () => {
  const running = runCommand(
    { program: '/does/not/exist', args: [] },
    { cwd: process.cwd(), signal: new AbortController().signal, confirmations: ALWAYS, onLine: () => {} },
  )
  await expect(running).rejects.toMatchObject({ code: 'SF634', detail: expect.stringContaining('ENOENT') })
})
