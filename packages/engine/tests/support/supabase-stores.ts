import { openDatabase, parseDatabaseUrl } from '@starflow/core'
import { type RestGateway, restGateway } from '../../../../tests/support/rest-gateway.ts'
import type { TestDatabase } from '../../../../tests/support/test-database.ts'
import { SupabaseWorkflowStateAdapter } from '../../src/adapters/supabase/index.ts'
import type { QueueingStateAdapter } from '../../src/state-adapter.ts'
import type { AdapterFactory } from '../conformance/adapter-factory.ts'

/** Stores in one test database, one after the other, reached with supabase-js through the gateway of the local platform. */
export async function supabaseStores(
  database: TestDatabase,
): Promise<AdapterFactory<QueueingStateAdapter> & { readonly gateway: RestGateway }> {
  const { sql } = database
  const gateway = await restGateway(database, ['public', 'starflow'])
  await installClock(database)
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'starflow'::regnamespace and c.relkind = 'r'`
  const everything = tables.map(({ name }) => name).join(', ')
  return {
    name: 'Supabase',
    gateway,
    async open() {
      await sql.unsafe(`truncate ${everything}; update pgflow.test_clock set ahead = '0'`).simple()
      const opened: SupabaseWorkflowStateAdapter[] = []
      const connect = async () => {
        const adapter = SupabaseWorkflowStateAdapter.open({
          ...gateway,
          listenOn: openDatabase(parseDatabaseUrl(database.url), { applicationName: 'starflow queue listener' }),
        })
        opened.push(adapter)
        return adapter
      }
      return {
        adapter: await connect(),
        connect,
        advance: async (ms) => {
          await sql`update pgflow.test_clock set ahead = ahead + ${ms} * interval '1 millisecond'`
        },
        close: async () => {
          for (const adapter of opened) await adapter.close()
        },
      }
    },
  }
}

/** A clock that every connection sees ahead: the setting of a test clock is one connection's, and REST has many. */
async function installClock({ sql }: TestDatabase): Promise<void> {
  await sql
    .unsafe(`
      create table pgflow.test_clock (is_only boolean primary key default true, ahead interval not null);
      insert into pgflow.test_clock (ahead) values ('0');
      grant select on pgflow.test_clock to service_role;
      create or replace function pgflow.clock() returns timestamptz language sql stable
      return pg_catalog.now() + (select ahead from pgflow.test_clock)`)
    .simple()
}
