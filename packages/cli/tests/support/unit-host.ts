import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** What systemd would be told and asked, as far as a page of the docs needs it: units from files, and their logs. */
export interface UnitHost {
  /** Programs that stand for those of the host; to be put in front of PATH. */
  readonly binDir: string
  /** Environment of the commands that ask. */
  readonly env: Readonly<Record<string, string>>
  /** Everything that the processes of a unit have said, one entry a line. */
  log(unit: string): readonly string[]
  /** How often a unit was started, by whomever. */
  starts(unit: string): number
  /** Kills the process of a unit as the kernel does when memory is short; the unit is restarted by its own rules. */
  kill(unit: string): Promise<void>
  /** When nothing of what units were told is under way. */
  settled(): Promise<void>
  /** Ends everything at once. */
  dispose(): Promise<void>
}

interface Unit {
  readonly log: string[]
  child: ChildProcess | undefined
  ended: Promise<void>
  starts: number
  /** It was told to be up: an end that nobody asked for is followed by another start. */
  isWanted: boolean
  /** Commands about one unit follow one another. */
  work: Promise<void>
}

/** The settings of a unit's section [Service], each with all of its values. */
export type UnitSettings = ReadonlyMap<string, readonly string[]>

/** Reads the unit of an instance from its template: `%i` is the instance. */
export function readUnit(unitDir: string, unit: string): UnitSettings {
  const [, template, instance] = /^(.+@)(.+?)(?:\.service)?$/.exec(unit) ?? []
  const text = readFileSync(join(unitDir, `${template}.service`), 'utf8').replaceAll('%i', instance!)
  const settings = new Map<string, string[]>()
  for (const [, name, value] of text.matchAll(/^(\w+)=(.*)$/gm)) {
    settings.set(name!, [...(settings.get(name!) ?? []), value!])
  }
  return settings
}

/**
 * Runs units of a folder by their own settings: ExecStart, WorkingDirectory, Environment, EnvironmentFile, Restart, KillMode,
 * TimeoutStopSec. Environment files that others may read are refused, since they hold secrets.
 */
export async function unitHost(options: {
  readonly folder: string
  readonly unitDir: string
  /** What a process inherits of the host. */
  readonly inherited: Readonly<Record<string, string>>
}): Promise<UnitHost> {
  const units = new Map<string, Unit>()
  const unitOf = (name: string): Unit => {
    const key = name.replace(/\.service$/, '')
    const found = units.get(key)
    if (found !== undefined) return found
    const made: Unit = {
      ...{ log: [], child: undefined, ended: Promise.resolve(), starts: 0, isWanted: false },
      work: Promise.resolve(),
    }
    units.set(key, made)
    return made
  }

  const start = (name: string) => {
    const unit = unitOf(name)
    unit.isWanted = true
    if (unit.child !== undefined) return
    const settings = readUnit(options.unitDir, name)
    const [program, ...args] = one(settings, 'ExecStart').split(' ')
    const child = spawn(program!, args, {
      cwd: one(settings, 'WorkingDirectory'),
      env: { ...options.inherited, ...environmentOf(settings) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    unit.child = child
    unit.starts++
    for (const stream of [child.stdout, child.stderr]) {
      let rest = ''
      stream.setEncoding('utf8').on('data', (text: string) => {
        const lines = `${rest}${text}`.split('\n')
        rest = lines.pop()!
        unit.log.push(...lines)
      })
    }
    unit.ended = new Promise((resolve) => {
      child.once('error', (error) => unit.log.push(String(error)))
      child.once('close', (code, signal) => {
        unit.log.push(`ended with ${code ?? signal}`)
        unit.child = undefined
        resolve()
        if (!unit.isWanted || one(settings, 'Restart') !== 'always') return
        setTimeout(() => unit.isWanted && start(name), Number(one(settings, 'RestartSec')) * 1000)
      })
    })
  }

  const stop = async (name: string) => {
    const unit = unitOf(name)
    unit.isWanted = false
    if (unit.child === undefined) return
    const settings = readUnit(options.unitDir, name)
    // To the main process alone: that is KillMode=mixed.
    if (one(settings, 'KillMode') !== 'mixed') throw new Error('this host knows KillMode=mixed alone')
    unit.child.kill('SIGTERM')
    const impatience = setTimeout(() => unit.child?.kill('SIGKILL'), Number(one(settings, 'TimeoutStopSec')) * 1000)
    await unit.ended
    clearTimeout(impatience)
  }

  const verbs: Readonly<Record<string, (name: string) => Promise<void> | void>> = {
    start,
    stop,
    restart: async (name) => {
      await stop(name)
      start(name)
    },
  }

  /** `systemctl VERB [--now] [--no-block] UNIT…` */
  const systemctl = async ([verb, ...words]: readonly string[]): Promise<void> => {
    if (verb === 'daemon-reload') return
    const names = words.filter((word) => !word.startsWith('-'))
    if (verb === 'reload' && names.join() === 'caddy') return
    const isNow = words.includes('--now')
    const known = verbs[isNow && verb === 'enable' ? 'start' : isNow && verb === 'disable' ? 'stop' : (verb ?? '')]
    if (known === undefined) throw new Error(`systemctl ${verb} is not known here`)
    const all = names.map((name) => {
      const unit = unitOf(name)
      unit.work = unit.work.then(() => known(name))
      return unit.work
    })
    if (!words.includes('--no-block')) await Promise.all(all)
  }

  /** `journalctl -u PATTERN -o cat` */
  const journalctl = (words: readonly string[]): string => {
    const pattern = words[words.indexOf('-u') + 1]!
    const matches = new RegExp(
      `^${pattern
        .replace(/\.service$/, '')
        .replaceAll('.', '\\.')
        .replaceAll('*', '.*')}$`,
    )
    return [...units].flatMap(([name, { log }]) => (matches.test(name) ? log.map((line) => `${line}\n`) : [])).join('')
  }

  const server = await listen(async (words) => {
    if (words[0] === 'journalctl') return journalctl(words.slice(1))
    await systemctl(words.slice(1))
    return ''
  })
  const binDir = join(options.folder, 'bin')
  writePrograms(binDir)

  return {
    binDir,
    env: { UNIT_HOST: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    log: (unit) => unitOf(unit).log,
    starts: (unit) => unitOf(unit).starts,
    kill: async (unit) => {
      const { child, ended } = unitOf(unit)
      child!.kill('SIGKILL')
      await ended
    },
    settled: async () => {
      await Promise.all([...units.values()].map(({ work }) => work))
    },
    dispose: async () => {
      for (const unit of units.values()) unit.isWanted = false
      for (const { child } of units.values()) child?.kill('SIGKILL')
      await Promise.all([...units.values()].map(({ ended }) => ended))
      server.close()
    },
  }
}

/** Stand-ins that hand their arguments to the host; `sudo` does what it is told, as whoever runs the tests. */
function writePrograms(binDir: string): void {
  mkdirSync(binDir, { recursive: true })
  const write = (name: string, text: string) => {
    writeFileSync(join(binDir, name), text)
    chmodSync(join(binDir, name), 0o755)
  }
  for (const name of ['systemctl', 'journalctl']) {
    write(
      name,
      `#!${process.execPath}
const answer = await fetch(process.env.UNIT_HOST, { method: 'POST', body: JSON.stringify(['${name}', ...process.argv.slice(2)]) })
const text = await answer.text()
;(answer.ok ? process.stdout : process.stderr).write(text)
process.exitCode = answer.ok ? 0 : 1
`,
    )
  }
  write('package.json', '{ "type": "module" }')
  write('sudo', '#!/bin/sh\nexec "$@"\n')
  // The real one looks at the Caddyfile in e2e/tests/split.test.ts.
  write('caddy', '#!/bin/sh\n')
}

function listen(handle: (words: readonly string[]) => Promise<string>): Promise<Server> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      void handle(JSON.parse(body)).then(
        (text) => response.end(text),
        (error: unknown) => {
          response.statusCode = 500
          response.end(String(error))
        },
      )
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

function one(settings: UnitSettings, name: string): string {
  const values = settings.get(name) ?? []
  if (values.length !== 1) throw new Error(`${name} is there ${values.length} times`)
  return values[0]!
}

/** Files count over `Environment=`, and later ones over earlier ones. */
function environmentOf(settings: UnitSettings): Record<string, string> {
  const files = settings.get('EnvironmentFile') ?? []
  return Object.fromEntries(
    [...(settings.get('Environment') ?? []), ...files.flatMap(assignmentsIn)].map((line) => {
      const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? []
      return [name!, value!]
    }),
  )
}

function assignmentsIn(file: string): string[] {
  if ((statSync(file).mode & 0o077) !== 0) throw new Error(`${file} may be read by others`)
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
}
