import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { killAtExit } from '@starflow/local'
import { readPostmaster } from '../../packages/local/src/postgres/postmaster-file.ts'
import { serverUser } from '../../packages/local/src/postgres/server-user.ts'

const POLL_MS = 20

/** The server of a data folder, restarted behind the back of whoever started it, as a crash of it would. */
export class RestartablePostgres {
  readonly #folder: string
  #restarted: ChildProcess | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * What `pg_ctl restart -m immediate` does: no checkpoint and no farewell. Returns when the server has recovered and
   * accepts connections again.
   */
  async restartImmediately(): Promise<void> {
    const [program, ...args] = this.#commandLine()
    await this.#end('SIGQUIT')
    const server = serverUser().spawn(program!, args, { stdio: 'ignore' })
    killAtExit(server.pid, 'SIGQUIT')
    this.#restarted = server
    // What the first server wrote is gone or names it.
    for (let found = this.#written(); found?.pid !== server.pid || !found?.isReady; found = this.#written()) {
      if (server.exitCode !== null) throw new Error(`The restarted server ended with ${server.exitCode}.`)
      await sleep(POLL_MS)
    }
  }

  /** Ends a server that was restarted here: who started the first one does not know it. */
  async stop(): Promise<void> {
    if (this.#restarted === undefined || this.#restarted.exitCode !== null) return
    const ended = once(this.#restarted, 'exit')
    await this.#end('SIGINT')
    await ended
  }

  /** As the server has written it down: each argument in quotes, with nothing escaped in them. */
  #commandLine(): string[] {
    const [, program, args] =
      /^(\S+) "(.*)"\s*$/s.exec(readFileSync(join(this.#folder, 'postmaster.opts'), 'utf8')) ?? []
    if (program === undefined) throw new Error(`There is no server in ${this.#folder}.`)
    return [program, ...args!.split('" "')]
  }

  #written() {
    return readPostmaster(this.#folder)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const pid = this.#written()?.pid
    if (pid === undefined) return
    process.kill(pid, signal)
    while (isAlive(pid)) await sleep(POLL_MS)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
