import { expect, test } from 'vitest'
import { testDatabase } from '../../tests/support/test-database.ts'
import { compareSnapshots, describeDifference, snapshotText, takeCatalogSnapshot } from './catalog-snapshot.ts'

const database = await testDatabase({ template: 'platform' })

await database.sql`
  create schema shop;
  create type shop.state as enum ('open', 'paid');
  create table shop.orders (id bigint generated always as identity primary key, total int not null default 0 check (total >= 0),
    state shop.state not null default 'open', note text);
  create index orders_open on shop.orders (id) where state = 'open';
  create view shop.open_orders as select id from shop.orders where state = 'open';
  create function shop.total(p_id bigint) returns int language sql stable set search_path = '' as
    'select total from shop.orders where id = p_id';
  create function shop.touch() returns trigger language plpgsql as 'begin return new; end';
  create trigger touch before update on shop.orders for each row execute function shop.touch();
  alter table shop.orders enable row level security;
  create policy own on shop.orders for select to authenticated using (true);
`.simple()

/** What the snapshot notices of some SQL, which is rolled back. */
async function noticed(statement: string): Promise<string[]> {
  const before = await takeCatalogSnapshot(database.sql)
  const client = database.connect()
  try {
    await client.unsafe('begin').simple()
    await client.unsafe(statement).simple()
    const after = await takeCatalogSnapshot(client, { inOpenTransaction: true })
    return compareSnapshots(before, after).map((each) => describeDifference(each, { left: 'before', right: 'after' }))
  } finally {
    await client.unsafe('rollback').simple()
    await client.end()
  }
}

test.each([
  ['a changed default', 'alter table shop.orders alter total set default 1', /columns shop\.orders\.total: default/],
  ['a changed nullability', 'alter table shop.orders alter note set not null', /orders\.note: not null/],
  ['a changed type', 'alter table shop.orders alter note type varchar(9)', /orders\.note: type/],
  ['a grant', 'grant select on shop.orders to anon', /relations shop\.orders: grants/],
  ['a grant on a column', 'grant select (note) on shop.orders to anon', /orders\.note: grants/],
  ['a revoked EXECUTE', 'revoke execute on function shop.total from public', /functions shop\.total.*: grants/],
  [
    'a changed function body',
    "create or replace function shop.total(p_id bigint) returns int language sql stable set search_path = '' as 'select 1'",
    /functions shop\.total.*: definition/,
  ],
  ['a changed search_path', 'alter function shop.total set search_path = public', /functions shop\.total.*: config/],
  ['security definer', 'alter function shop.total security definer', /functions shop\.total.*: security definer/],
  ['a comment', "comment on function shop.total is 'the total'", /functions shop\.total.*: comment/],
  ['a changed constraint', 'alter table shop.orders drop constraint orders_total_check', /only in before/],
  ['a dropped index', 'drop index shop.orders_open', /indexes shop\.orders_open: only in before/],
  [
    'a changed view',
    'create or replace view shop.open_orders as select id from shop.orders',
    /relations shop\.open_orders: definition/,
  ],
  ['a disabled trigger', 'alter table shop.orders disable trigger touch', /triggers shop\.orders\.touch: enabled/],
  ['a changed policy', 'alter policy own on shop.orders using (false)', /policies shop\.orders\.own: using/],
  ['row security switched off', 'alter table shop.orders disable row level security', /orders: row security/],
  ['a further enum label', "alter type shop.state add value 'void'", /types shop\.state: labels/],
  [
    'a new owner of defaults',
    'alter default privileges in schema shop grant select on tables to anon',
    /defaultGrants/,
  ],
])('the snapshot notices %s', async (_what, statement, expected) => {
  const differences = await noticed(statement)
  expect(differences.join('\n')).toMatch(expected)
})

test('two snapshots of one database are the same text', async () => {
  const [first, second] = [await takeCatalogSnapshot(database.sql), await takeCatalogSnapshot(database.sql)]
  expect(snapshotText(first)).toBe(snapshotText(second))
  expect(compareSnapshots(first, second)).toEqual([])
})

test('an explicit grant that equals the implicit default is no difference', async () => {
  expect(await noticed('grant all on shop.orders to postgres')).toEqual([])
})
