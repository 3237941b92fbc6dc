import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { Flow } from '@starflow/dsl'
import { resolveDenoBinary } from '@starflow/local'
import Database from 'libsql'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { LocalWorkflowStateAdapter } from '../src/adapters/local/index.ts'
import { StateDatabase } from '../src/adapters/local/state-database.ts'
import { openStateFile } from '../src/adapters/local/state-file.ts'
import { Engine } from '../src/engine/engine.ts'
import type { EngineEvent } from '../src/engine/events.ts'
import { definition, enqueue, heldRun, readRun, startRun, TTL_MS } from './conformance/run-fixture.ts'
import { EventLog } from './support/event-log.ts'
import { type LineProcess, startLineProcess } from './support/line-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'starflow-state-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const adapters: LocalWorkflowStateAdapter[] = []
const processes: LineProcess[] = []
afterEach(async () => {
  for (const { child } of processes.splice(0)) child.kill('SIGKILL')
  for (const adapter of adapters.splice(0)) await adapter.close()
})

function newPath(): string {
  return join(folder, randomUUID(), 'runs.db')
}

async function open(path: string): Promise<LocalWorkflowStateAdapter> {
  const adapter = await LocalWorkflowStateAdapter.open({ path })
  adapters.push(adapter)
  return adapter
}

const PROGRAM = fileURLToPath(new URL('./support/state-file-process.ts', import.meta.url))

function inNode(...args: string[]): LineProcess {
  const started = startLineProcess(execPath, [...COMPILED, PROGRAM, ...args])
  processes.push(started)
  return started
}

/** Looks at the file with nothing of ours. */
function inspect<TValue>(path: string, look: (database: Database.Database) => TValue): TValue {
  const database = new Database(path)
  try {
    return look(database)
  } finally {
    database.close()
  }
}

describe('the state file', () => {
  test('is made with its folder, and nobody but its owner reads it', async () => {
    const path = newPath()
    await startRun(await open(path))
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777, file).toBe(0o600)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
  })

  test('says in its header what it is, and lets readers and a writer work at the same time', async () => {
    const path = newPath()
    await open(path)
    expect(
      inspect(path, (database) => [
        database.prepare('pragma application_id').get(),
        database.prepare('pragma user_version').get(),
        database.prepare('pragma journal_mode').get(),
      ]),
    ).toMatchObject([{ application_id: 0x53464c57 }, { user_version: 3 }, { journal_mode: 'wal' }])
  })

  test('keeps runs when it is closed and opened again', async () => {
    const path = newPath()
    const first = await open(path)
    const { runId, bound } = await heldRun(first)
    await bound.onNodeComplete(runId, 'pack', { weight: 3 })
    const before = [await first.readRun(runId), await first.readEvents(runId)]
    await first.close()
    const second = await open(path)
    expect([await second.readRun(runId), await second.readEvents(runId)]).toEqual(before)
  })

  test('tells the time by the clock of SQLite, to the millisecond', async () => {
    const adapter = await open(newPath())
    const before = Date.now()
    const { startedAt } = await readRun(adapter, await startRun(adapter))
    expect(Date.parse(startedAt!)).toBeGreaterThanOrEqual(before - 1)
    expect(Date.parse(startedAt!)).toBeLessThanOrEqual(Date.now() + 1)
  })

  test('in memory is gone when it is closed, and leaves no file', async () => {
    const first = await open(':memory:')
    const runId = await startRun(first)
    await first.close()
    expect(await (await open(':memory:')).readRun(runId)).toBeNull()
    expect(existsSync(':memory:')).toBe(false)
  })

  test('writes that share a commit stand each for itself: a refused one undoes only what it did', async () => {
    const adapter = await open(newPath())
    const { runId, bound } = await heldRun(adapter)
    const lost = adapter.bind({ runId, runnerId: 'runner-b', claimAttempts: 7 })
    const outcomes = await Promise.allSettled([
      bound.onNodeComplete(runId, 'pack', 1),
      lost.onNodeComplete(runId, 'label', 2),
      bound.onNodeComplete(runId, 'send', 3),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await adapter.readEvents(runId)).map(({ nodeId }) => nodeId)).toEqual([null, 'pack', 'send'])
  })

  test('is complete by itself when it is closed: a copy of it has every run', async () => {
    const path = newPath()
    const adapter = await open(path)
    const runId = await startRun(adapter)
    await adapter.close()
    const copy = join(folder, 'copy.db')
    copyFileSync(path, copy)
    expect(await (await open(copy)).readRun(runId)).toMatchObject({ status: 'running' })
  })

  test('after it was closed every call is refused', async () => {
    const adapter = await open(newPath())
    const { runId, bound } = await heldRun(adapter)
    await adapter.close()
    await expect(adapter.readRun(runId)).rejects.toMatchObject({ code: 'SF821' })
    await expect(bound.onNodeStart(runId, 'pack', { attempt: 1 })).rejects.toMatchObject({ code: 'SF821' })
  })

  test('what was asked for before it was closed is written', async () => {
    const path = newPath()
    const adapter = await open(path)
    const write = adapter.onRunStart('1', {
      templateId: 'orders',
      workspaceId: 'a',
      env: 'b',
      input: 1,
      definitionId: null,
    })
    await adapter.close()
    await write
    expect(await (await open(path)).readRun('1')).toMatchObject({ status: 'running' })
  })
})

describe('a file that cannot be used', () => {
  /** Refused with the reason, and left as it was. */
  async function expectRefusal(path: string, reason: string): Promise<void> {
    const before = readFileSync(path)
    await expect(open(path)).rejects.toMatchObject({
      code: 'SF821',
      message: `The state file ${path} cannot be used: ${reason}.`,
      detail: expect.stringMatching(/./),
      hint: expect.stringMatching(/./),
      fields: { path },
    })
    expect(readFileSync(path).equals(before)).toBe(true)
  }

  test('is refused when it is no database', async () => {
    const path = join(folder, 'letter.db')
    writeFileSync(path, 'Dear Ada, '.repeat(1000))
    await expectRefusal(path, 'it is no SQLite database')
  })

  test('is refused when it is the database of another application', async () => {
    const path = join(folder, 'notes.db')
    inspect(path, (database) => database.exec('create table notes (text text)'))
    await expectRefusal(path, 'it is the database of another application')
  })

  test('is refused when a newer version of Starflow has written it', async () => {
    const path = newPath()
    await (await open(path)).close()
    inspect(path, (database) => database.pragma('user_version = 99'))
    await expectRefusal(path, 'a newer version of Starflow has written it')
  })

  test('is refused when it is damaged, at the latest by the call that meets the damage', async () => {
    const path = newPath()
    const adapter = await open(path)
    const { runId, bound } = await heldRun(adapter)
    for (let node = 0; node < 50; node++) await bound.onNodeComplete(runId, `pack[${node}]`, 'x'.repeat(5000))
    await adapter.close()
    const bytes = readFileSync(path)
    // All pages but the first ones, which hold the tables' definitions.
    bytes.fill(0x5a, 4096 * 40)
    const damagedPath = join(folder, 'damaged.db')
    writeFileSync(damagedPath, bytes)
    const damaged = await open(damagedPath)
    await expect(damaged.readEvents(runId)).rejects.toMatchObject({
      code: 'SF821',
      message: `The state file ${damagedPath} cannot be used: it is damaged.`,
    })
  })

  test('is refused when its folder cannot be made, also where the file system knows no folders to be made', async () => {
    writeFileSync(join(folder, 'letter.txt'), 'Dear Ada,')
    for (const path of [join(folder, 'letter.txt', 'runs.db'), '/proc/starflow/deep/runs.db']) {
      // On macOS there is no /proc, and the root takes no folder either.
      await expect(open(path)).rejects.toMatchObject({
        code: 'SF821',
        message: `The state file ${path} cannot be used: it cannot be opened for writing.`,
      })
    }
  })

  test('is refused when it is a pipe, which would be waited for', async () => {
    const path = join(folder, 'pipe.db')
    execFileSync('mkfifo', [path])
    await expect(open(path)).rejects.toMatchObject({
      code: 'SF821',
      message: `The state file ${path} cannot be used: it is no file.`,
    })
  })
})

describe('processes that share a state file', () => {
  test('may open a new one at the same time', async () => {
    const path = newPath()
    const opening = Array.from({ length: 4 }, () => inNode('open', path))
    expect(await Promise.all(opening.map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
  })

  describe('and make it at the same time', () => {
    const { pragma, prepare } = Database.prototype
    afterEach(() => vi.restoreAllMocks())

    test('wait for each other to switch it to what lets them work at once', async () => {
      const path = join(folder, `${randomUUID()}.db`)
      const other = new Database(path)
      other.exec('begin immediate')
      vi.spyOn(Database.prototype, 'pragma').mockImplementation(function (this: Database.Database, ...args) {
        try {
          return pragma.apply(this, args)
        } finally {
          if (other.inTransaction) other.exec('commit')
        }
      })
      await open(path)
      expect(other.prepare('pragma journal_mode').get()).toMatchObject({ journal_mode: 'wal' })
      other.close()
    })

    test.each([1, 2, 3, 4])('know it for theirs, made just before look %i at it', async (look) => {
      const path = newPath()
      let looks = 0
      vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, ...args) {
        looks += 1
        if (looks === look) openStateFile(path, 'process_crash').close()
        return prepare.apply(this, args)
      })
      await open(path)
      expect(looks).toBeGreaterThan(look)
    })
  })

  test('claim each of 200 runs once', async () => {
    const path = newPath()
    const adapter = await open(path)
    const definitionId = await definition(adapter)
    const queued = await Promise.all(Array.from({ length: 200 }, () => enqueue(adapter, { definitionId })))
    const runners = Array.from({ length: 4 }, () => inNode('claim', path, definitionId))
    await Promise.all(runners.map(({ line }) => line(/^open$/)))
    const go = () => runners.map(({ child }) => child.stdin?.write('go\n'))
    go()
    await Promise.all(runners.map(({ line }) => line(/^claimed /)))
    // How the rest is shared out is the operating system's.
    go()
    expect(await Promise.all(runners.map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
    const claimed = runners.flatMap(({ lines }) => lines.filter((line) => line.startsWith('claimed ')))
    expect(claimed.toSorted()).toEqual(queued.map((runId) => `claimed ${runId}`).toSorted())
    const { runs } = await adapter.listRuns({ limit: 500 })
    expect(runs.every(({ claimState, claimAttempts }) => claimState === 'claimed' && claimAttempts === 1)).toBe(true)
  })

  test.each([1, 5, 12])(
    'leave it whole when one is killed in the middle of its writes, in round %i',
    async (rounds) => {
      const path = newPath()
      const writer = inNode('write', path)
      const runId = (await writer.line(/^run /)).slice('run '.length)
      await writer.line(new RegExp(`^accepted ${rounds}$`))
      writer.child.kill('SIGKILL')
      await writer.ended
      expect(inspect(path, (database) => database.prepare('pragma integrity_check').get())).toMatchObject({
        integrity_check: 'ok',
      })
      const adapter = await open(path)
      const events = await adapter.readEvents(runId)
      const nodes = events.filter(({ type }) => type === 'node_complete').map(({ nodeId }) => nodeId)
      const accepted = writer.lines.filter((line) => line.startsWith('accepted ')).length
      expect(nodes.length).toBeGreaterThanOrEqual(accepted * 4)
      // A commit is there with all of its writes or not at all.
      expect(nodes).toEqual(Array.from({ length: nodes.length }, (_, index) => `pack[${index}]`))
      expect(nodes.length % 4).toBe(0)
      // And the file takes the next write.
      expect(await adapter.expireOldLeases({ ttlMs: TTL_MS, maxLosses: 3, reason: 'runner_lost' })).toEqual([])
      expect(await adapter.cancelRun(runId, 'its runner is gone')).toBe(true)
    },
  )

  test('may be of Node and of Deno', async () => {
    const path = newPath()
    const adapter = await open(path)
    const deno = startLineProcess(resolveDenoBinary(), [
      'run',
      '--no-prompt',
      '--cached-only',
      '--node-modules-dir=manual',
      '--allow-env',
      '--allow-sys',
      '--allow-ffi',
      `--allow-read`,
      `--allow-write=${folder}`,
      PROGRAM,
      'live',
      path,
      await definition(adapter),
    ])
    processes.push(deno)
    const runId = (await deno.line(/^done /)).slice('done '.length)
    expect(await deno.ended).toBe(0)
    expect(await adapter.readRun(runId)).toMatchObject({ status: 'success', output: 'sent', claimState: 'complete' })
  })
})

describe('a file that cannot be written for a while', () => {
  test('a full disk is said as such, for every write that shared the commit, and the next one that fits is kept', async () => {
    const database = new StateDatabase(newPath(), 'process_crash')
    const limit = (pages: number) => database.write(({ first }) => void first(`pragma max_page_count = ${pages}`))
    await database.write(({ run }) => run('create table filler (content text not null)'))
    const pages = await database.read(({ first }) => first<{ page_count: number }>('pragma page_count')!.page_count)
    await limit(pages + 2)
    const full = { code: 'SF821', message: expect.stringContaining('the disk is full'), fields: { isPassing: true } }
    const together = await Promise.allSettled([
      database.write(({ run }) => run("insert into filler values ('small')")),
      database.write(({ run }) => run('insert into filler values (:content)', { content: 'x'.repeat(100_000) })),
    ])
    expect(together).toMatchObject([
      { status: 'rejected', reason: full },
      { status: 'rejected', reason: full },
    ])
    expect(await database.write(({ run }) => run("insert into filler values ('small')"))).toBe(1)
    database.close()
  })

  test('a lock of another process is waited for without holding up this one', async () => {
    const path = newPath()
    const adapter = await open(path)
    const other = new Database(path)
    other.exec('begin immediate')
    const started = startRun(adapter)
    // Turns of the event loop go by, and reads are answered, while the write waits.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(await Promise.race([started, adapter.listRunners()])).toEqual([])
    other.exec('rollback')
    other.close()
    await started
  })

  test('a write that meets a lock for too long is refused, and the run that it belongs to is kept on', async () => {
    const path = newPath()
    const adapter = await open(path)
    const other = new Database(path)
    const flow = new Flow({ slug: 'locked' }).step({ slug: 'work' }, () => {
      other.exec('begin immediate')
      return 'done'
    })
    const events = new EventLog<EngineEvent>()
    const engine = new Engine({ adapter, onEvent: events.record })
    const running = engine.run(flow, {})
    expect(await events.seen('write.retried')).toMatchObject({ method: 'onNodeComplete', errorName: 'StateFileError' })
    other.exec('rollback')
    other.close()
    expect(await running).toMatchObject({ end: 'success', output: { work: 'done' } })
  }, 60_000)
})
