import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import { COMPILED } from '../../../../tests/support/compiled.ts'
import { ApiClient } from './api-client.ts'
import { type LogLine, OPERATOR_TOKEN, type TestStorage } from './test-servers.ts'
import { until } from './until.ts'

const PROGRAM = fileURLToPath(new URL('./server-process.ts', import.meta.url))

export interface ServerProcess {
  readonly child: ChildProcess
  readonly url: string
  /** The operator, about workspace `shop`. */
  readonly api: ApiClient
  readonly log: readonly LogLine[]
  /** Settles with the exit code; null after a signal. */
  readonly ended: Promise<number | null>
}

/** Processes of one test file on one storage, and the gate of their slow flow. */
export class ServerProcesses {
  readonly #storage: TestStorage
  readonly #folder = mkdtempSync(join(tmpdir(), 'starflow-server-processes-'))

  constructor(storage: TestStorage) {
    this.#storage = storage
    afterAll(() => rmSync(this.#folder, { recursive: true, force: true }))
  }

  async start(role: 'edge' | 'runner' | 'both', env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    const child = spawn(process.execPath, [...COMPILED, PROGRAM, this.#folder], {
      env: {
        ...process.env,
        ...this.#storage.env,
        ...{ STARFLOW_ROLE: role, STARFLOW_PORT: '0', STARFLOW_LOG_LEVEL: 'debug', STARFLOW_SERVICE_ID: role },
        ...(role === 'runner' ? {} : { STARFLOW_API_TOKEN: OPERATOR_TOKEN }),
        ...env,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    afterAll(() => void child.kill('SIGKILL'))
    const log: LogLine[] = []
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (text) => {
        const { msg, ...fields } = JSON.parse(text)
        log.push({ ...fields, message: msg })
        if (msg === 'started') resolve(fields.url)
      })
      ended.then((code) => reject(new Error(`The server ended with ${code}.`)))
    })
    const api = new ApiClient(url, OPERATOR_TOKEN, { 'starflow-workspace': 'shop' })
    return { child, url, api, log, ended }
  }

  /** Which process executes the slow run of this name, as soon as one does. */
  async begunBy(name: string, services: readonly string[]): Promise<string> {
    const begun = async () => services.find((service) => existsSync(join(this.#folder, `${name}.${service}.begun`)))
    return (await until(begun, (service) => service !== undefined))!
  }

  /** Lets the slow run of this name end. */
  leave(name: string): void {
    writeFileSync(join(this.#folder, `${name}.leave`), '')
  }
}
