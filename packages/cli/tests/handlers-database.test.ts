import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Sql } from 'postgres'
import { afterAll, afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { DATABASE_PLACEHOLDER } from '../../../tests/support/test-server.ts'
import { withRunStore } from '../src/runs/run-store.ts'
import { starflow } from './support/run-starflow.ts'
import { SampleProject } from './support/sample-project.ts'

const BIN = fileURLToPath(new URL('../bin/starflow.mjs', import.meta.url))

/** Runs are kept behind an API, and handlers, or the list of runs on step queues, go to a database directly. */
const database = await testDatabase()
const other = await testDatabase()
const proxy = await flakyProxy(database.url)
const { supabaseUrl, serviceRoleKey } = await restGateway(database, ['public', 'starflow'])
const FLOW = `
    import { Flow } from '@starflow/dsl'
    export const flow = new Flow({ slug: 'writes' }).step({ slug: 'write' }, (_, ctx) => ctx.sql\`select 1\`)`
// Named by hand, and where a server looks.
const project = new SampleProject({ 'flows.ts': FLOW, 'supabase/functions/_flows/flows.ts': FLOW })
const home = process.cwd()

beforeEach(() => {
  process.chdir(project.root)
  vi.stubEnv('SUPABASE_URL', supabaseUrl)
  vi.stubEnv('SUPABASE_SERVICE_ROLE_KEY', serviceRoleKey)
})
afterEach(() => {
  vi.unstubAllEnvs()
  process.chdir(home)
})
afterAll(async () => {
  await proxy.close()
  project.dispose()
})

const openedBy = (url: string, work: (sql: Sql) => Promise<void>) => {
  vi.stubEnv('SUPABASE_DB_URL', url)
  return withRunStore(
    async ({ resources }) => {
      const lent = resources.lendSql!(new AbortController().signal)
      // An engine takes any client; here it is this one.
      await work(lent.sql as Sql).finally(() => lent.giveBack())
    },
    { executes: true },
  )
}

describe('the connection of handlers that run in a process of the command line', () => {
  test('reads arrays of the types of its application', async () => {
    await database.sql`create type mood as enum ('calm', 'wild')`
    await openedBy(proxy.url, async (sql) => {
      expect(await sql`select array['calm', 'wild']::mood[] as moods`).toEqual([{ moods: ['calm', 'wild'] }])
    })
  })

  test('goes on at once after it was lost', async () => {
    await openedBy(proxy.url, async (sql) => {
      await sql`select 1`
      proxy.resetAt('lost')
      const next = sql`select 'lost'`.catch(() => sql`select 2 as two`)
      expect(await next).toEqual([{ two: 2 }])
    })
  })

  test('is free for other attempts once the one that reserved all of it has ended', async () => {
    vi.stubEnv('SUPABASE_DB_URL', proxy.url)
    await withRunStore(
      async ({ resources }) => {
        const lend = () => resources.lendSql!(new AbortController().signal) as { sql: Sql; giveBack(): void }
        const greedy = lend()
        await Promise.all(Array.from({ length: 4 }, () => greedy.sql.reserve()))
        const next = lend()
        const waiting = next.sql.begin((tx) => tx`select 1 as one`)
        greedy.giveBack()
        expect(await waiting).toEqual([{ one: 1 }])
        next.giveBack()
      },
      { executes: true },
    )
  })

  test('is taken as it is where its role may not ask for the id of the database', async () => {
    const confined = inject('testServer').urls.authenticator.replace(DATABASE_PLACEHOLDER, database.name)
    await openedBy(confined, async (sql) => {
      expect(await sql`select current_user as name`).toEqual([{ name: 'authenticator' }])
    })
  })
})

describe('SUPABASE_URL and SUPABASE_DB_URL', () => {
  beforeEach(async () => {
    // A clone has the id of what it was cloned from.
    await other.sql`update starflow.database_identity set database_id = gen_random_uuid()`
  })

  test.each<[string, string[]]>([
    ['starflow run', ['run', 'flows.ts', '--input', '1']],
    ['starflow runner', ['runner', 'flows.ts']],
    ['starflow runs list', ['runs', 'list']],
    ['starflow waits list', ['waits', 'list']],
  ])('that are two databases are refused by %s, before anything is done', async (_command, args) => {
    vi.stubEnv('SUPABASE_DB_URL', other.url)
    const { exitCode, stdout } = await starflow(...args, '--json')
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'SF913', message: 'SUPABASE_URL and SUPABASE_DB_URL are different databases.' },
    })
    expect(await database.sql`select from starflow.workflow_runs`).toEqual([])
  })

  test('are told apart also where the database is named by --database-url', async () => {
    const { stdout } = await starflow('runs', 'list', '--json', '--database-url', other.url)
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'SF913', message: 'SUPABASE_URL and --database-url are different databases.' },
    })
  })

  test('of one database are used, and a command that needs only one asks for one', async () => {
    vi.stubEnv('SUPABASE_DB_URL', database.url)
    expect(await starflow('runs', 'list', '--json')).toMatchObject({ exitCode: 0 })
    vi.stubEnv('SUPABASE_DB_URL', other.url)
    expect(await starflow('runners', '--json')).toMatchObject({ exitCode: 0 })
  })

  test('of which one leads nowhere are refused without its password', async () => {
    vi.stubEnv('SUPABASE_DB_URL', 'postgresql://postgres:hunter2@127.0.0.1:1/postgres')
    const { stdout } = await starflow('run', 'flows.ts', '--input', '1', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'SF631' } })
    expect(stdout).not.toContain('hunter2')
  })

  test('of which one has no Starflow are refused with SF403, by whoever asks it', async () => {
    const bare = await testDatabase({ template: 'platform' })
    vi.stubEnv('SUPABASE_DB_URL', bare.url)
    for (const args of [
      ['run', 'flows.ts', '--input', '1'],
      ['runs', 'list'],
    ]) {
      const { stdout } = await starflow(...args, '--json')
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'SF403' } })
    }
  })

  test('are taken as they are where the role may list runs and not ask for the id of the database', async () => {
    await database.sql.unsafe(`
      grant usage on schema pgflow, starflow to authenticator;
      grant select on all tables in schema pgflow, starflow to authenticator;
      grant execute on all functions in schema pgflow, starflow to authenticator;
      revoke execute on function starflow.database_id() from public, authenticator`)
    vi.stubEnv('SUPABASE_DB_URL', inject('testServer').urls.authenticator.replace(DATABASE_PLACEHOLDER, database.name))
    const { exitCode } = await starflow('runs', 'list', '--json')
    expect(exitCode).toBe(0)
  })
})

test.each(['runner', 'both'])(
  'a handler has ctx.sql under starflow server with the role %s as under starflow runner',
  async (role) => {
    const child = spawn(process.execPath, [BIN, 'server'], {
      cwd: project.root,
      env: {
        ...process.env,
        ...{ SUPABASE_URL: supabaseUrl, SUPABASE_SERVICE_ROLE_KEY: serviceRoleKey, SUPABASE_DB_URL: database.url },
        ...{
          STARFLOW_ROLE: role,
          STARFLOW_PORT: '0',
          STARFLOW_API_TOKEN: role === 'both' ? 'the-operators-token-of-this-test' : '',
        },
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'close')
    try {
      const lines = createInterface({ input: child.stdout })
      const runId = randomUUID()
      for await (const line of lines) {
        const { msg, runId: about, end } = JSON.parse(line) as { msg: string; runId?: string; end?: string }
        if (msg === 'started') {
          await database.sql`
          select starflow.enqueue_run(${runId}, 'writes', 'celestial', 'prod', 'null'::jsonb, d.id)
          from starflow.workflow_definitions d where d.flow_slug = 'writes'`
        }
        if (msg === 'run.ended' && about === runId) {
          expect(end).toBe('success')
          break
        }
      }
      const [run] = await database.sql`select status, output from starflow.workflow_runs where id = ${runId}`
      expect(run).toMatchObject({ status: 'success', output: { write: [{ '?column?': 1 }] } })
    } finally {
      child.kill('SIGTERM')
      await ended
    }
  },
  120_000,
)
