import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { TransactionSql } from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { type Runtime, runtimeCommand } from '../../../tests/support/runtimes.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { inTransaction, isConnectionLoss, reserveConnection } from '../src/index.ts'

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
  'of a reserved connection',
  'of a reserved connection in a query',
]

type Cut = 'terminated' | 'reset'

/** How long the driver alone may take: it fails at once, or its query never settles. */
const BARE_MS = 10_000

/** Runs scenes of the program, and answers how they ended and how the program did. */
async function run(
  runtime: Runtime,
  kind: 'guarded' | 'bare',
  cut: Cut,
  scenes: readonly string[],
  patienceMs?: number,
) {
  const [command, ...args] = runtimeCommand(runtime, PROGRAM)
  const child = spawn(command, [...args, proxy.url, kind, ...scenes], {
    env: { ...process.env, DENO_NO_UPDATE_CHECK: '1' },
  })
  children.add(child)
  const outcomes = new Map<string, string>()
  let errors = ''
  child.stderr.on('data', (data: Buffer) => {
    errors += data
  })
  const ended = once(child, 'close')
  const impatience = patienceMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), patienceMs)
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
  clearTimeout(impatience)
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
    'a held connection that is %s at any boundary rejects, and neither ends the process nor writes elsewhere',
    async (cut) => {
      const { exitCode, errors, outcomes } = await run(runtime, 'guarded', cut, BOUNDARIES)
      expect(errors).toBe('')
      expect(exitCode).toBe(0)
      expect([...outcomes.keys()]).toEqual(BOUNDARIES)
      for (const [scene, outcome] of outcomes) {
        expect(isConnectionLoss({ code: outcome }), `${scene}: ${outcome}`).toBe(true)
      }
      expect(await sql`select scene from effects`).toEqual([])
    },
  )

  test('the driver itself ends the process, or never answers: drop the guard when this fails', async () => {
    const { exitCode, outcomes } = await run(runtime, 'bare', 'terminated', ['in a query'], BARE_MS)
    expect(exitCode).not.toBe(0)
    expect([...outcomes.keys()]).toEqual([])
  })
})

describe('a transaction', () => {
  test('commits, and answers what its work does, an array of queries by their results', async () => {
    expect(
      await inTransaction(sql, async (tx) => (await tx`insert into effects values ('kept') returning scene`)[0]),
    ).toEqual({
      scene: 'kept',
    })
    expect(await inTransaction(sql, (tx) => [tx`select 1 as n`, tx`select 2 as n`] as unknown)).toEqual([
      [{ n: 1 }],
      [{ n: 2 }],
    ])
    expect(await sql`select scene from effects`).toEqual([{ scene: 'kept' }])
  })

  test.each<[string, (tx: TransactionSql) => Promise<unknown>]>([
    ['an error of the server', (tx) => tx`select 1 / 0`],
    ['an error of its own', () => Promise.reject(new Error('own'))],
    ['a call that the driver refuses', (tx) => tx`select ${undefined as unknown as string}`],
    [
      'an error that only looks like a loss',
      () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNRESET' })),
    ],
  ])('rolls back after %s', async (_what, fails) => {
    const outcome = inTransaction(sql, async (tx) => {
      await tx`insert into effects values ('undone')`
      await fails(tx)
    })
    await expect(outcome).rejects.toThrow()
    expect(await sql`select scene from effects`).toEqual([])
    expect(
      await sql`select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    ).toEqual([])
  })

  test('rolls back to its savepoint, and goes on', async () => {
    await inTransaction(sql, async (tx) => {
      await tx`insert into effects values ('outer')`
      await tx
        .savepoint(async (inner) => {
          await inner`insert into effects values ('inner')`
          throw new Error('inner')
        })
        .catch(() => {})
      expect(await tx.savepoint('named', (inner) => inner`select scene from effects`)).toEqual([{ scene: 'outer' }])
    })
    expect(await sql`select scene from effects`).toEqual([{ scene: 'outer' }])
  })

  test('refuses queries once it is over, instead of sending them into another one', async () => {
    const kept = await inTransaction(sql, (tx) => ({ tx }))
    await expect(kept.tx`insert into effects values ('late')`).rejects.toThrow('The transaction is over.')
    const reserved = await reserveConnection(sql)
    expect(await reserved`select 1 as n`).toEqual([{ n: 1 }])
    reserved.release()
    await expect(reserved`insert into effects values ('late')`).rejects.toThrow('The connection was released.')
    expect(await sql`select scene from effects`).toEqual([])
  })

  test('takes the options of begin', async () => {
    const write = inTransaction(sql, (tx) => tx`insert into effects values ('written')`, 'read only')
    await expect(write).rejects.toMatchObject({ code: '25006' })
  })
})
