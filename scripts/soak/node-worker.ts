import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { COMPILED } from '../../tests/support/compiled.ts'

const PROGRAM = fileURLToPath(new URL('./node-worker-main.ts', import.meta.url))
/** Between its end and its next start, as a process manager has it. */
const RESTART_MS = 500

/** A worker in a Node process, which is started again whenever it ends. */
export class NodeWorker {
  readonly #flowFile: string
  readonly #databaseUrl: string
  #child: ChildProcess
  #isOver = false

  constructor(flowFile: string, databaseUrl: string) {
    this.#flowFile = flowFile
    this.#databaseUrl = databaseUrl
    this.#child = this.#start()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async end(): Promise<void> {
    this.#isOver = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.kill()
    await ended
  }

  #start(): ChildProcess {
    const child = spawn(process.execPath, [...COMPILED, PROGRAM, this.#flowFile], {
      env: { ...process.env, STARFLOW_DB_URL: this.#databaseUrl },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    child.once('exit', () => {
      setTimeout(() => {
        if (!this.#isOver) this.#child = this.#start()
      }, RESTART_MS)
    })
    return child
  }
}
