import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isConnectionLoss } from '@starflow/core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { type Runtime, runtimeCommand } from '../../../tests/support/runtimes.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { openConnections, type WorkerConnections } from '../src/worker-connections.ts'

const database = await testDatabase()
const { sql } = database
const proxy = await flakyProxy(database.url)
afterAll(() => proxy.close())

/** A test that runs out of time leaves no program behind. */
const children = new Set<ChildProcess>()
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
})

const PROGRAM = fileURLToPath(new URL('./support/cut-transaction.ts', import.meta.url))

const isPooled = database.url.includes('pgbouncer=true')
const RESERVED = 'of a reserved connection'
/** Where a connection may be cut; each is a scene of the program. */
const BOUNDARIES = [
  'after begin',
  'in a query',
  'in a query with parameters',
  'between queries',
  'between queries, with a failure of another kind',
  'before commit',
  'in commit',
  'in a query, whose failure the work ignores',
  'in a savepoint',
  'between the queries of a savepoint',
  'and the work goes on when the connection is another’s',
  RESERVED,
  'of a reserved connection in a query',
]

type Cut = 'terminated' | 'reset'

/** Runs scenes of the program, and answers how they ended and how the program did. */
async function run(runtime: Runtime, cut: Cut, scenes: readonly string[]) {
  const [command, ...args] = runtimeCommand(runtime, PROGRAM)
  const child = spawn(command, [...args, proxy.url, ...scenes], {
    env: { ...process.env, DENO_NO_UPDATE_CHECK: '1' },
  })
  children.add(child)
  const outcomes = new Map<string, string>()
  let errors = ''
  child.stderr.on('data', (data: Buffer) => {
    errors += data
  })
  const ended = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    const [, pid, asleep] = /^cut (\d+)( asleep)?$/.exec(line) ?? []
    const [, scene, outcome] = / is /.test(line) ? (/^(.*) is (.*)$/.exec(line) ?? []) : []
    if (scene !== undefined) outcomes.set(scene, outcome!)
    if (pid === undefined) continue
    if (asleep !== undefined) await until(() => isAsleep(pid))
    if (cut === 'reset') proxy.reset()
    // A sleeping backend does not see that its client is gone.
    await sql`select pg_terminate_backend(${pid}::integer)`
    await until(async () => (await sql`select from pg_stat_activity where pid = ${pid}::integer`).length === 0)
    child.stdin.write('done\n')
  }
  const [exitCode] = (await ended) as [number | null]
  return { exitCode, errors, outcomes }
}

const isAsleep = async (pid: string) =>
  (await sql`select from pg_stat_activity where pid = ${pid}::integer and wait_event = 'PgSleep'`).length > 0

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

beforeAll(async () => {
  await sql.unsafe(`
    create table effects (scene text);
    create table slow_to_commit (n integer);
    create function sleep_in_commit() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return null; end $$;
    create constraint trigger sleep_in_commit after insert on slow_to_commit
      deferrable initially deferred for each row execute function sleep_in_commit();`)
})
beforeEach(async () => {
  await sql`truncate effects`
})

describe.each(['Node', 'Deno'] as const)('in %s', (runtime) => {
  test.each(['terminated', 'reset'] as const)(
    'a connection of a handler that is %s at any boundary rejects, and neither ends the process nor writes elsewhere',
    async (cut) => {
      // Outside of a transaction a session is the pooler's, and its end is the pooler's to mend.
      const scenes = BOUNDARIES.filter((scene) => !(isPooled && cut === 'terminated' && scene === RESERVED))
      const { exitCode, errors, outcomes } = await run(runtime, cut, scenes)
      expect(errors).toBe('')
      expect(exitCode).toBe(0)
      expect([...outcomes.keys()]).toEqual(scenes)
      for (const [scene, outcome] of outcomes) {
        expect(isConnectionLoss({ code: outcome }), `${scene}: ${outcome}`).toBe(true)
      }
      expect(await sql`select scene from effects`).toEqual([])
    },
  )
})

const opened: WorkerConnections[] = []
afterEach(async () => {
  proxy.restore()
  await Promise.all(opened.splice(0).map(({ close }) => close(0)))
})

/** An attempt of a worker, with what ends it. */
function attempt(connections = 2) {
  const worker = openConnections({ databaseUrl: proxy.url }, connections, 'handlers-sql.test')
  opened.push(worker)
  const lend = () => {
    const timeout = new AbortController()
    const lent = worker.handlers.lend(timeout.signal)
    return { lent, timeout: () => timeout.abort(new Error('The attempt timed out.')) }
  }
  return { lend }
}

describe('an attempt', () => {
  test('whose query is never answered makes its timeout replace the client, so that the next attempt is answered', async () => {
    const { lend } = attempt()
    const first = lend()
    await first.lent.sql`select 1`
    proxy.freeze()
    const lost = first.lent.sql`select 1`.then(
      () => 'answered',
      (error: unknown) => error,
    )
    first.timeout()
    first.lent.giveBack()
    const second = lend()
    expect(await second.lent.sql`select 2 as n`).toEqual([{ n: 2 }])
    expect(isConnectionLoss(await lost)).toBe(true)
    second.lent.giveBack()
  })

  test('that ends with all its queries answered leaves the client to the next', async () => {
    const { lend } = attempt()
    const pids: unknown[] = []
    for (let n = 0; n < 2; n++) {
      const { lent, timeout } = lend()
      pids.push((await lent.sql`select pg_backend_pid() as pid`)[0]!.pid)
      timeout()
      lent.giveBack()
    }
    expect(pids[0]).toBe(pids[1])
  })

  test('that times out takes nothing from another one, whose transaction goes on', async () => {
    const { lend } = attempt(3)
    const [other, late] = [lend(), lend()]
    let goOn = () => {}
    const waits = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const kept = other.lent.sql.begin(async (tx) => {
      await tx`select 1`
      await waits
      return await tx`insert into effects values ('goes on') returning scene`
    })
    kept.catch(() => {})
    void late.lent.sql`select pg_sleep(600)`.catch(() => {})
    late.timeout()
    late.lent.giveBack()
    await lend().lent.sql`select 1`
    goOn()
    expect(await kept).toEqual([{ scene: 'goes on' }])
    other.lent.giveBack()
  })

  test.each(['begin', 'reserve'] as const)(
    'that ends while its %s waits for a connection begins nothing when there is one',
    async (call) => {
      const { lend } = attempt()
      const [holder, late] = [lend(), lend()]
      const held = await holder.lent.sql.reserve()
      const worked: string[] = []
      const work = async () => void worked.push('late')
      const waiting = (call === 'begin' ? late.lent.sql.begin(work) : late.lent.sql.reserve().then(work)).then(
        () => 'done',
        (error: { code?: string }) => error.code,
      )
      late.timeout()
      late.lent.giveBack()
      held.release()
      expect(await waiting).toBe('CONNECTION_ENDED')
      expect(worked).toEqual([])
      expect(await lend().lent.sql.begin((tx) => tx`select 1 as n`)).toEqual([{ n: 1 }])
    },
  )

  test('of a worker that has closed its connections opens none, and does not wait for one', async () => {
    const { lend } = attempt()
    const { sql: left } = lend().lent
    const held = await lend().lent.sql.reserve()
    const codeOf = (call: () => Promise<unknown>) =>
      (async () => await call())().then(
        () => 'done',
        (error: { code?: string }) => error.code,
      )
    const waiting = codeOf(() => left.begin((tx) => tx`select 1`))
    await opened.at(-1)!.close(0)
    held.release()
    expect(await waiting).toBe('CONNECTION_ENDED')
    expect(await codeOf(() => left`select 1`)).toBe('CONNECTION_ENDED')
    expect(await codeOf(() => left.begin((tx) => tx`select 1`))).toBe('CONNECTION_ENDED')
  })

  test('that ends ctx.sql ends it for nobody', async () => {
    const { lend } = attempt()
    const { lent } = lend()
    await lent.sql.end()
    await lent.sql.end({ timeout: 0 })
    expect(await lent.sql`select 1 as n`).toEqual([{ n: 1 }])
    expect(await lend().lent.sql`select 2 as n`).toEqual([{ n: 2 }])
  })

  test('that leaks a reserved connection gives it back when it ends', async () => {
    const { lend } = attempt()
    const { lent } = lend()
    const reserved = await lent.sql.reserve()
    await reserved`select 1`
    lent.giveBack()
    expect(await lend().lent.sql`select 2 as n`).toEqual([{ n: 2 }])
  })

  test('finds fragments, helpers, json and transactions as in the driver', async () => {
    const { sql } = attempt().lend().lent
    const [row] = await sql`
      select ${sql({ a: 1 }, 'a').constructor.name !== ''} as helps, ${sql.json({ b: [2] })}::jsonb as document
      ${sql`, ${sql`'nested'`} as fragment`}`
    expect(row).toEqual({ helps: true, document: { b: [2] }, fragment: 'nested' })
    expect(await sql.begin((tx) => [tx`select 1 as n`, tx`select 2 as n`])).toEqual([[{ n: 1 }], [{ n: 2 }]])
    expect(await sql.unsafe('select $1::int as n', [3])).toEqual([{ n: 3 }])
  })
})
