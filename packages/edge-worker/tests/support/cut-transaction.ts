// Transactions whose connection is cut, in a process of their own, since what goes wrong ends the process. Runs in Node and
// in Deno: `cut-transaction.ts URL CASE...` prints "cut PID" when the backend PID is to be cut, or "cut PID asleep" when that
// is to wait for its pg_sleep, waits for a line on standard input, and prints "CASE is OUTCOME".
import process from 'node:process'
import { createInterface } from 'node:readline'
import type { Sql, TransactionSql } from 'postgres'
import { openConnections } from '../../src/worker-connections.ts'

type Begin = (work: (tx: TransactionSql) => Promise<unknown>) => Promise<unknown>
interface Scene {
  readonly begin: Begin
  readonly sql: Sql
  /** Has the connection of `tx` cut; `during` is sent before, and hangs. Settles when the backend is gone. */
  readonly cut: (tx: TransactionSql, during?: () => PromiseLike<unknown>) => Promise<void>
}

const [url, ...names] = process.argv.slice(2)
if (url === undefined) throw new Error('Usage: cut-transaction.ts URL CASE...')

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const pidOf = async (tx: TransactionSql) => (await tx<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]!.pid
/** Some turns of the event loop, in which a socket's end is seen. */
const turns = () => new Promise((resolve) => setTimeout(resolve, 20))

const CASES: Record<string, (scene: Scene) => Promise<unknown>> = {
  'after begin': ({ begin, cut }) =>
    begin(async (tx) => {
      await cut(tx)
      await tx`insert into effects values ('after begin')`
    }),
  'in a query': ({ begin, cut }) => begin((tx) => cut(tx, () => tx`select pg_sleep(600)`)),
  'in a query with parameters': ({ begin, cut }) => begin((tx) => cut(tx, () => tx`select pg_sleep(${600}::float8)`)),
  'between queries': ({ begin, cut }) =>
    begin(async (tx) => {
      await tx`insert into effects values ('before')`
      await cut(tx)
      await tx`insert into effects values ('between queries')`
    }),
  'between queries, with a failure of another kind': ({ begin, cut }) =>
    begin(async (tx) => {
      await cut(tx)
      throw new Error('of another kind')
    }),
  'before commit': ({ begin, cut }) =>
    begin(async (tx) => {
      await tx`insert into effects values ('before commit')`
      await cut(tx)
      return 'done'
    }),
  'in commit': ({ begin, cut }) =>
    begin(async (tx) => {
      // Its deferred trigger sleeps, so the commit hangs.
      await tx`insert into slow_to_commit values (1)`
      void cut(tx, () => new Promise(() => {}))
      await pidOf(tx)
    }),
  'in a query, whose failure the work ignores': ({ begin, cut }) =>
    begin(async (tx) => {
      await cut(tx, () => tx`select pg_sleep(600)`).catch(() => {})
      await tx`insert into effects values ('ignored')`.catch(() => {})
      return 'done'
    }),
  'in a savepoint': ({ begin, cut }) =>
    begin(async (tx) => {
      await tx.savepoint(async (inner) => {
        await cut(inner, () => inner`select pg_sleep(600)`)
      })
    }),
  'between the queries of a savepoint': ({ begin, cut }) =>
    begin(async (tx) => {
      await tx.savepoint('named', async (inner) => {
        await cut(inner)
        await inner`insert into effects values ('savepoint')`
      })
    }),
  'and the work goes on when the connection is another’s': async ({ begin, cut, sql }) => {
    let goOn = () => {}
    const replaced = new Promise<void>((resolve) => {
      goOn = resolve
    })
    let ended: Promise<unknown> = Promise.resolve()
    const outcome = begin((tx) => {
      const work = async () => {
        await cut(tx)
        await replaced
        await tx`insert into effects values ('another’s')`
      }
      ended = work()
      return ended
    }).catch((error: unknown) => error)
    await outcome
    await answered(sql)
    goOn()
    await ended.catch(() => {})
    throw await outcome
  },
  'of a reserved connection': async ({ sql, cut }) => {
    const reserved = await sql.reserve()
    const tx = reserved as unknown as TransactionSql
    try {
      await cut(tx)
      await reserved`insert into effects values ('reserved')`
    } finally {
      reserved.release()
    }
  },
  'of a reserved connection in a query': async ({ sql, cut }) => {
    const reserved = await sql.reserve()
    await cut(reserved as unknown as TransactionSql, () => reserved`select pg_sleep(600)`).finally(reserved.release)
  },
}

/** A new connection may be blamed for the end of the last one, once: the driver does that. */
async function answered(sql: Sql): Promise<void> {
  for (;;) {
    const answer = await sql`select 1`.then(
      () => true,
      () => false,
    )
    if (answer) return
    await turns()
  }
}

for (const name of names) {
  // One connection of its own, one for handlers.
  const { handlers, close } = openConnections({ databaseUrl: url }, 2, 'cut')
  const { sql } = handlers.lend(new AbortController().signal)
  // The driver never reserves a connection that it has to open first.
  await sql`select 1`
  const cut: Scene['cut'] = async (tx, during) => {
    const pid = await pidOf(tx)
    const failed = Promise.resolve(during?.())
    failed.catch(() => {})
    console.log(`cut ${pid}${during === undefined ? '' : ' asleep'}`)
    await lines.next()
    await turns()
    await failed
  }
  const begin: Begin = (work) => sql.begin(work)
  const outcome = await CASES[name]!({ begin, sql, cut }).then(
    () => 'no failure',
    (error: { code?: string; message: string }) => `${error.code ?? error.message}`,
  )
  await turns()
  await answered(sql)
  await close(1_000)
  console.log(`${name} is ${outcome}`)
}
process.exit(0)
