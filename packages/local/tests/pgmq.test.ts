import postgres from 'postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'

const database = await testDatabase({ template: 'platform' })
const { sql } = database
await sql`create extension if not exists pgmq`

/** A queue of this test's own, listed in mixed case so that every test meets another spelling than the table's. */
let queue: string
let count = 0
beforeEach(async () => {
  queue = `Queue_${++count}`
  await sql`select pgmq.create(${queue})`
})

const table = (prefix: 'q' | 'a') => sql(`pgmq.${prefix}_${queue.toLowerCase()}`)
const ids = (rows: readonly Record<string, unknown>[]) => rows.map((row) => String(Object.values(row)[0]))
const send = async (...messages: unknown[]) =>
  ids(await sql`select pgmq.send_batch(${queue}, ${messages.map((m) => JSON.stringify(m))}::text[]::jsonb[])`)
const read = (vt: number, qty: number) => sql`select * from pgmq.read(${queue}, ${vt}, ${qty})`
const secondsUntilVisible = async (id: string) => {
  const [row] = await sql`
    select extract(epoch from vt - clock_timestamp())::float8 as seconds from ${table('q')} where msg_id = ${id}`
  return row?.seconds as number
}
const columns = async (name: string) =>
  (
    await sql`
      select a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
             || case a.attidentity when 'a' then ' always' else '' end
             || coalesce(' = ' || pg_get_expr(d.adbin, d.adrelid), '') as column
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = ${name}::regclass and a.attnum > 0 order by a.attnum`
  ).map((row) => row.column as string)

describe('the interface', () => {
  test('is version 1.5.1 in schema pgmq', async () => {
    expect(
      await sql`select extversion, extnamespace::regnamespace::text from pg_extension where extname = 'pgmq'`,
    ).toEqual([{ extversion: '1.5.1', extnamespace: 'pgmq' }])
  })

  test('has every function with its argument names, result and volatility', async () => {
    const found = await sql`
      select proname || '(' || pg_get_function_arguments(oid) || ') ' || pg_get_function_result(oid) as function
      from pg_proc
      where pronamespace = 'pgmq'::regnamespace and proname not like '\\_%' and provolatile = 'v'`
    const messages = (name: string, argument: string) =>
      ['', ', headers jsonb'].flatMap((headers) =>
        ['', ', delay integer', ', delay timestamp with time zone'].map(
          (delay) =>
            `${name}(queue_name text, ${argument}${name === 'send_batch' ? headers.replace('jsonb', 'jsonb[]') : headers}${delay}) SETOF bigint`,
        ),
      )
    const record = 'SETOF pgmq.message_record'
    expect(found.map((row) => row.function as string).sort()).toEqual(
      [
        'create(queue_name text) void',
        'create_non_partitioned(queue_name text) void',
        'create_unlogged(queue_name text) void',
        'drop_queue(queue_name text) boolean',
        'drop_queue(queue_name text, partitioned boolean) boolean',
        'list_queues() SETOF pgmq.queue_record',
        ...messages('send', 'msg jsonb'),
        ...messages('send_batch', 'msgs jsonb[]'),
        `read(queue_name text, vt integer, qty integer, conditional jsonb DEFAULT '{}'::jsonb) ${record}`,
        `read_with_poll(queue_name text, vt integer, qty integer, max_poll_seconds integer DEFAULT 5, poll_interval_ms integer DEFAULT 100, conditional jsonb DEFAULT '{}'::jsonb) ${record}`,
        `pop(queue_name text) ${record}`,
        'archive(queue_name text, msg_id bigint) boolean',
        'archive(queue_name text, msg_ids bigint[]) SETOF bigint',
        'delete(queue_name text, msg_id bigint) boolean',
        'delete(queue_name text, msg_ids bigint[]) SETOF bigint',
        `set_vt(queue_name text, msg_id bigint, vt integer) ${record}`,
        'purge_queue(queue_name text) bigint',
        'metrics(queue_name text) pgmq.metrics_result',
        'metrics_all() SETOF pgmq.metrics_result',
        'validate_queue_name(queue_name text) void',
        'format_table_name(queue_name text, prefix text) text',
        'detach_archive(queue_name text) void',
        'acquire_queue_lock(queue_name text) void',
        "create_partitioned(queue_name text, partition_interval text DEFAULT '10000'::text, retention_interval text DEFAULT '100000'::text) void",
        "convert_archive_partitioned(table_name text, partition_interval text DEFAULT '10000'::text, retention_interval text DEFAULT '100000'::text, leading_partition integer DEFAULT 10) void",
      ].sort(),
    )
  })

  test('has the columns of every table and type', async () => {
    expect(await columns('pgmq.meta')).toEqual([
      'queue_name character varying not null',
      'is_partitioned boolean not null',
      'is_unlogged boolean not null',
      'created_at timestamp with time zone not null = now()',
    ])
    const head = ['read_ct integer not null = 0', 'enqueued_at timestamp with time zone not null = now()']
    const tail = ['vt timestamp with time zone not null', 'message jsonb', 'headers jsonb']
    expect(await columns(`pgmq.q_${queue}`)).toEqual(['msg_id bigint not null always', ...head, ...tail])
    expect(await columns(`pgmq.a_${queue}`)).toEqual([
      'msg_id bigint not null',
      ...head,
      'archived_at timestamp with time zone not null = now()',
      ...tail,
    ])
    expect(await columns('pgmq.message_record')).toEqual([
      'msg_id bigint',
      'read_ct integer',
      'enqueued_at timestamp with time zone',
      'vt timestamp with time zone',
      'message jsonb',
      'headers jsonb',
    ])
    expect(await columns('pgmq.queue_record')).toEqual([
      'queue_name character varying',
      'is_partitioned boolean',
      'is_unlogged boolean',
      'created_at timestamp with time zone',
    ])
    expect(await columns('pgmq.metrics_result')).toEqual([
      'queue_name text',
      'queue_length bigint',
      'newest_msg_age_sec integer',
      'oldest_msg_age_sec integer',
      'total_messages bigint',
      'scrape_time timestamp with time zone',
      'queue_visible_length bigint',
    ])
  })

  test('indexes vt of a queue and archived_at of its archive', async () => {
    const found = await sql`
      select substring(indexdef from '\\((.*)\\)') as columns from pg_indexes
      where schemaname = 'pgmq' and tablename in (${`q_${queue.toLowerCase()}`}, ${`a_${queue.toLowerCase()}`})`
    expect(found.map((row) => row.columns as string).sort()).toEqual(['archived_at', 'msg_id', 'msg_id', 'vt'])
  })
})

describe('queues', () => {
  test('are members of the extension, so that a dump leaves them out, until an archive is detached', async () => {
    const members = async () =>
      (
        await sql`
          select c.relname as name from pg_depend d
          join pg_extension e on e.oid = d.refobjid and d.refclassid = 'pg_extension'::regclass and e.extname = 'pgmq'
          join pg_class c on c.oid = d.objid and d.classid = 'pg_class'::regclass
          where d.deptype = 'e' and substr(c.relname, 3) = ${queue.toLowerCase()} order by 1`
      ).map((row) => row.name as string)
    const [archive, table] = [`a_${queue.toLowerCase()}`, `q_${queue.toLowerCase()}`]
    expect(await members()).toEqual([archive, table])
    await sql`select pgmq.detach_archive(${queue})`
    expect(await members()).toEqual([table])
  })

  test('of the longest names that differ in their last letter have an index of archived_at each', async () => {
    const names = ['a', 'b'].map((letter) => 'x'.repeat(46) + letter)
    for (const name of names) await sql`select pgmq.create(${name})`
    expect(
      await sql`select indexname from pg_indexes where schemaname = 'pgmq' and indexname like 'archived_at_idx_xxx%' order by 1`,
    ).toEqual(names.map((name) => ({ indexname: `archived_at_idx_${name}` })))
  })

  test('create keeps the spelling in meta and lower-cases the tables', async () => {
    expect(await sql`select * from pgmq.list_queues() where queue_name = ${queue}`).toMatchObject([
      { queue_name: queue, is_partitioned: false, is_unlogged: false, created_at: expect.any(Date) },
    ])
    expect(await sql`select pgmq.format_table_name('MyQ', 'q') as name`).toEqual([{ name: 'q_myq' }])
    expect(await sql`select to_regclass(${`pgmq.q_${queue.toLowerCase()}`}) is not null as exists`).toEqual([
      { exists: true },
    ])
  })

  test('create of an existing queue changes nothing', async () => {
    const [id] = await send({ kept: true })
    await sql`select pgmq.create(${queue}), pgmq.create_non_partitioned(${queue})`
    expect(ids(await read(0, 5))).toEqual([id])
    expect(await sql`select from pgmq.meta where queue_name = ${queue}`).toHaveLength(1)
  })

  test('create_unlogged makes the queue unlogged and its archive not', async () => {
    await sql`select pgmq.create_unlogged('volatile_one')`
    expect(await sql`select is_unlogged from pgmq.meta where queue_name = 'volatile_one'`).toEqual([
      { is_unlogged: true },
    ])
    expect(
      await sql`select relname, relpersistence::text from pg_class
        where oid in ('pgmq.q_volatile_one'::regclass, 'pgmq.a_volatile_one'::regclass) order by relname`,
    ).toEqual([
      { relname: 'a_volatile_one', relpersistence: 'p' },
      { relname: 'q_volatile_one', relpersistence: 'u' },
    ])
  })

  test('drop_queue removes tables and row, and answers true', async () => {
    expect(await sql`select pgmq.drop_queue(${queue}) as dropped`).toEqual([{ dropped: true }])
    expect(await sql`select from pgmq.meta where queue_name = ${queue}`).toHaveLength(0)
    expect(await sql`select to_regclass(${`pgmq.q_${queue}`}) as q, to_regclass(${`pgmq.a_${queue}`}) as a`).toEqual([
      { q: null, a: null },
    ])
  })

  test('drop_queue with a second argument drops the same', async () => {
    expect(await sql`select pgmq.drop_queue(${queue}, false) as dropped`).toEqual([{ dropped: true }])
    expect(await sql`select from pgmq.meta where queue_name = ${queue}`).toHaveLength(0)
  })

  test('drop_queue in another spelling drops the tables and leaves the row', async () => {
    expect(await sql`select pgmq.drop_queue(${queue.toLowerCase()}) as dropped`).toEqual([{ dropped: true }])
    expect(await sql`select to_regclass(${`pgmq.q_${queue}`}) as q`).toEqual([{ q: null }])
    expect(await sql`select from pgmq.meta where queue_name = ${queue}`).toHaveLength(1)
    await sql`delete from pgmq.meta where queue_name = ${queue}`
  })

  test('drop_queue of a missing queue is a notice and false', async () => {
    const notices: string[] = []
    const client = postgres(database.url, { max: 1, onnotice: (notice) => notices.push(String(notice.message)) })
    try {
      expect(await client`select pgmq.drop_queue('never_made') as dropped`).toEqual([{ dropped: false }])
    } finally {
      await client.end()
    }
    expect(notices).toEqual(['pgmq queue `never_made` does not exist'])
  })

  test('reading, sending and measuring a missing queue is undefined_table', async () => {
    const undefinedTable = expect.objectContaining({ code: '42P01' })
    await expect(sql`select * from pgmq.read('never_made', 1, 1)`).rejects.toEqual(undefinedTable)
    await expect(sql`select pgmq.send('never_made', '{}')`).rejects.toEqual(undefinedTable)
    await expect(sql`select pgmq.metrics('never_made')`).rejects.toEqual(undefinedTable)
  })

  test('a name of 47 characters works to its end, one of 48 is refused', async () => {
    const longest = 'N'.repeat(47)
    await sql`select pgmq.create(${longest}), pgmq.validate_queue_name(${longest})`
    await sql`select pgmq.send(${longest}, '{}')`
    await sql`select pgmq.archive(${longest}, 1)`
    const message = 'queue name is too long, maximum length is 47 characters'
    await expect(sql`select pgmq.validate_queue_name(${'n'.repeat(48)})`).rejects.toThrow(message)
    await expect(sql`select pgmq.create(${'n'.repeat(48)})`).rejects.toThrow(message)
  })

  test.each(['a$b', 'a;b', 'a--b', "a'b"])('the name %s is refused', async (name) => {
    await expect(sql`select pgmq.create(${name})`).rejects.toThrow(/^queue name contains invalid characters: /)
  })

  test.each(['with space', 'with-hyphen', 'with"quote'])('the name %s works', async (name) => {
    await sql`select pgmq.create(${name})`
    await sql`select pgmq.send(${name}, '{"n": 1}')`
    expect(await sql`select message from pgmq.read(${name}, 0, 1)`).toEqual([{ message: { n: 1 } }])
    await sql`select pgmq.drop_queue(${name})`
  })

  test('partitioned queues are refused with the reason', async () => {
    const refused = expect.objectContaining({ code: '0A000', detail: expect.stringContaining('pg_partman') })
    await expect(sql`select pgmq.create_partitioned('parts')`).rejects.toEqual(refused)
    await expect(sql`select pgmq.convert_archive_partitioned('parts')`).rejects.toEqual(refused)
    await expect(sql`select pgmq.drop_queue(${queue}, true)`).rejects.toEqual(refused)
  })

  test('detach_archive accepts a queue and refuses a missing one', async () => {
    await sql`select pgmq.detach_archive(${queue})`
    await expect(sql`select pgmq.detach_archive('never_made')`).rejects.toMatchObject({ code: '42P01' })
  })

  test('acquire_queue_lock holds off another transaction until the first ends', async () => {
    await sql.begin(async (first) => {
      await first`select pgmq.acquire_queue_lock(${queue})`
      const [row] = await first`select count(*)::int as locks from pg_locks
        where pid = pg_backend_pid() and locktype = 'advisory' and granted`
      expect(row).toEqual({ locks: 1 })
      await expect(
        sql.begin(async (second) => {
          await second`set local lock_timeout = '50ms'`
          await second`select pgmq.acquire_queue_lock(${queue.toUpperCase()})`
        }),
      ).rejects.toMatchObject({ code: '55P03' })
    })
  })
})

describe('sending', () => {
  test('send returns the id, and the message is visible at once', async () => {
    expect(await sql`select * from pgmq.send(${queue}, '{"n": 1}')`).toEqual([{ send: '1' }])
    expect(await read(0, 5)).toMatchObject([{ msg_id: '1', message: { n: 1 }, headers: null }])
  })

  test('send takes headers, and a delay in seconds or as an instant', async () => {
    await sql`select pgmq.send(queue_name => ${queue}, msg => '1', headers => '{"h": 1}')`
    const delayed = ids(
      await sql`
      select pgmq.send(${queue}, '2', 60) union all
      select pgmq.send(${queue}, '3', clock_timestamp() + interval '60 seconds') union all
      select pgmq.send(${queue}, '4', '{"h": 4}', 60) union all
      select pgmq.send(${queue}, '5', '{"h": 5}'::jsonb, clock_timestamp() + interval '60 seconds')`,
    )
    expect(await read(0, 5)).toMatchObject([{ message: 1, headers: { h: 1 } }])
    for (const id of delayed) expect(await secondsUntilVisible(id)).toBeCloseTo(60, -1)
    expect(
      await sql`select message, headers from ${table('q')} where vt > now() + interval '30 seconds' order by msg_id`,
    ).toEqual([
      { message: 2, headers: null },
      { message: 3, headers: null },
      { message: 4, headers: { h: 4 } },
      { message: 5, headers: { h: 5 } },
    ])
  })

  test('send_batch returns ids in the order of msgs', async () => {
    const messages = Array.from({ length: 500 }, (_, n) => ({ n }))
    const sent = await send(...messages)
    expect(sent).toEqual(messages.map((_, n) => String(n + 1)))
    const rows = await read(0, 500)
    expect(rows.map((row) => [row.msg_id, row.message])).toEqual(messages.map((m, n) => [String(n + 1), m]))
  })

  test('send_batch takes headers, and a delay in seconds or as an instant', async () => {
    const delayed = ids(
      await sql`
      select pgmq.send_batch(${queue}, array['1', '2']::jsonb[], 60) union all
      select pgmq.send_batch(${queue}, array['3']::jsonb[], clock_timestamp() + interval '60 seconds') union all
      select pgmq.send_batch(${queue}, array['4']::jsonb[], array['{"h": 4}']::jsonb[], 60) union all
      select pgmq.send_batch(${queue}, array['5']::jsonb[], array['{"h": 5}']::jsonb[], clock_timestamp() + interval '60 s')`,
    )
    await sql`select pgmq.send_batch(${queue}, array['6', '7']::jsonb[], array['{"h": 6}']::jsonb[])`
    for (const id of delayed) expect(await secondsUntilVisible(id)).toBeCloseTo(60, -1)
    expect(await sql`select message, headers from ${table('q')} order by msg_id`).toEqual([
      { message: 1, headers: null },
      { message: 2, headers: null },
      { message: 3, headers: null },
      { message: 4, headers: { h: 4 } },
      { message: 5, headers: { h: 5 } },
      { message: 6, headers: { h: 6 } },
      { message: 7, headers: null },
    ])
  })

  test('send_batch of nothing sends nothing', async () => {
    expect(await sql`select pgmq.send_batch(${queue}, '{}'::jsonb[])`).toHaveLength(0)
    expect(await sql`select pgmq.send_batch(${queue}, '{}'::jsonb[], array['{}']::jsonb[])`).toHaveLength(0)
    expect(await sql`select from ${table('q')}`).toHaveLength(0)
  })
})

describe('reading', () => {
  test('read hides the messages it returns and counts the read', async () => {
    await send({ n: 0 }, { n: 1 }, { n: 2 })
    const rows = await read(30, 2)
    expect(rows).toMatchObject([
      {
        msg_id: '1',
        read_ct: 1,
        enqueued_at: expect.any(Date),
        vt: expect.any(Date),
        message: { n: 0 },
        headers: null,
      },
      { msg_id: '2', read_ct: 1, message: { n: 1 } },
    ])
    expect(await secondsUntilVisible('1')).toBeCloseTo(30, -1)
    expect(ids(await read(30, 5))).toEqual(['3'])
    expect(ids(await read(30, 5))).toEqual([])
  })

  test('read returns messages in the order of their ids, not of their vt', async () => {
    await send(1, 2, 3)
    await sql`update ${table('q')} set vt = now() - msg_id * interval '1 minute'`
    expect(ids(await read(0, 2))).toEqual(['1', '2'])
  })

  test.each([0, -5])('a vt of %d leaves a message visible', async (vt) => {
    await send('again')
    expect((await read(vt, 1))[0]).toMatchObject({ read_ct: 1 })
    expect((await read(vt, 1))[0]).toMatchObject({ read_ct: 2 })
  })

  test('read with a condition returns only messages that contain it', async () => {
    await send({ kind: 'a', n: 1 }, { kind: 'b' }, { kind: 'a', n: 2 })
    const rows = await sql`select msg_id from pgmq.read(${queue}, 30, 5, conditional => '{"kind": "a"}')`
    expect(ids(rows)).toEqual(['1', '3'])
    expect(ids(await read(30, 5))).toEqual(['2'])
  })

  test('read passes over messages that another transaction holds', async () => {
    await send(1, 2, 3)
    await sql.begin(async (first) => {
      expect(ids(await first`select msg_id from pgmq.read(${queue}, 30, 2)`)).toEqual(['1', '2'])
      expect(ids(await read(30, 5))).toEqual(['3'])
    })
  })

  test('two readers at once never get the same message', async () => {
    await send(...Array.from({ length: 200 }, (_, n) => n))
    const readers = Array.from({ length: 8 }, async () => {
      const seen: string[] = []
      for (;;) {
        const rows = await read(60, 7)
        if (rows.length === 0) return seen
        seen.push(...ids(rows))
      }
    })
    const seen = (await Promise.all(readers)).flat()
    expect(seen).toHaveLength(200)
    expect(new Set(seen).size).toBe(200)
  })

  test('read_with_poll returns at once what is there', async () => {
    await send({ kind: 'a' }, { kind: 'b' })
    const rows = await sql`
      select message from pgmq.read_with_poll(${queue}, 30, 5, 60, 100, conditional => '{"kind": "b"}')`
    expect(rows).toEqual([{ message: { kind: 'b' } }])
  })

  test('read_with_poll waits for a message that comes later', async () => {
    const polling = sql`select message from pgmq.read_with_poll(${queue}, 30, 1, 20, 10)`.execute()
    await expect
      .poll(() => sql`select from pg_stat_activity where datname = ${database.name} and wait_event = 'PgSleep'`)
      .toHaveLength(1)
    await send('late')
    expect(await polling).toEqual([{ message: 'late' }])
  })

  test('read_with_poll gives up when the time is over', async () => {
    const [row] = await sql`
      with polled as materialized (select count(*) as found from pgmq.read_with_poll(${queue}, 30, 1, 1, 50))
      select found::int, extract(epoch from clock_timestamp() - now())::float8 as seconds from polled`
    expect(row?.found).toBe(0)
    expect(row?.seconds).toBeGreaterThanOrEqual(1)
  })

  test('pop reads and deletes one visible message', async () => {
    await send({ n: 1 }, { n: 2 })
    await sql`select pgmq.set_vt(${queue}, 1, 60)`
    expect(await sql`select msg_id, message from pgmq.pop(${queue})`).toEqual([{ msg_id: '2', message: { n: 2 } }])
    expect(await sql`select * from pgmq.pop(${queue})`).toHaveLength(0)
    expect(await sql`select msg_id from ${table('q')}`).toEqual([{ msg_id: '1' }])
  })

  test('set_vt hides a message, shows it again, and knows only existing ones', async () => {
    await send('x')
    expect(await sql`select msg_id, read_ct from pgmq.set_vt(${queue}, 1, 60)`).toEqual([{ msg_id: '1', read_ct: 0 }])
    expect(await read(30, 1)).toHaveLength(0)
    await sql`select pgmq.set_vt(${queue}, 1, 0)`
    expect(await read(30, 1)).toHaveLength(1)
    expect(await sql`select * from pgmq.set_vt(${queue}, 99, 0)`).toHaveLength(0)
  })
})

describe('ending', () => {
  test('archive moves the row as it was, and answers whether it was there', async () => {
    await sql`select pgmq.send(${queue}, '{"n": 1}', '{"h": 1}'::jsonb)`
    const [before] = await read(30, 1)
    expect(await sql`select pgmq.archive(${queue}, 1) as archived`).toEqual([{ archived: true }])
    expect(await sql`select pgmq.archive(${queue}, 1) as archived`).toEqual([{ archived: false }])
    expect(await sql`select from ${table('q')}`).toHaveLength(0)
    expect(await sql`select *, archived_at > now() - interval '1 minute' as fresh from ${table('a')}`).toMatchObject([
      { ...before, fresh: true },
    ])
  })

  test('archive of many returns the ids that were there', async () => {
    await send(1, 2, 3)
    expect(ids(await sql`select pgmq.archive(${queue}, array[3, 99, 1, 1]::bigint[])`).sort()).toEqual(['1', '3'])
    expect(ids(await sql`select msg_id from ${table('a')} order by msg_id`)).toEqual(['1', '3'])
    expect(ids(await sql`select msg_id from ${table('q')}`)).toEqual(['2'])
  })

  test('delete removes without a trace, and answers like archive', async () => {
    await send(1, 2, 3)
    expect(await sql`select pgmq.delete(${queue}, 1) as deleted`).toEqual([{ deleted: true }])
    expect(await sql`select pgmq.delete(${queue}, 1) as deleted`).toEqual([{ deleted: false }])
    expect(ids(await sql`select pgmq.delete(${queue}, array[1, 3, 99]::bigint[])`)).toEqual(['3'])
    expect(ids(await sql`select msg_id from ${table('q')}`)).toEqual(['2'])
    expect(await sql`select from ${table('a')}`).toHaveLength(0)
  })

  test('purge_queue removes all messages and tells how many', async () => {
    await send(1, 2, 3)
    await read(60, 1)
    expect(await sql`select pgmq.purge_queue(${queue}) as removed`).toEqual([{ removed: '3' }])
    expect(await sql`select pgmq.purge_queue(${queue}) as removed`).toEqual([{ removed: '0' }])
    expect(await send('next')).toEqual(['4'])
  })

  test.each(['lower', 'upper'] as const)('every message function works with the %s spelling', async (spelling) => {
    const name = spelling === 'lower' ? queue.toLowerCase() : queue.toUpperCase()
    await sql`select pgmq.send(${name}, '1'), pgmq.send_batch(${name}, array['2', '3', '4']::jsonb[])`
    expect(await sql`select from pgmq.read(${name}, 0, 9)`).toHaveLength(4)
    expect(await sql`select from pgmq.set_vt(${name}, 1, -1)`).toHaveLength(1)
    expect(await sql`select from pgmq.pop(${name})`).toHaveLength(1)
    expect(await sql`select pgmq.archive(${name}, 2) as done`).toEqual([{ done: true }])
    expect(await sql`select pgmq.delete(${name}, 3) as done`).toEqual([{ done: true }])
    expect(await sql`select pgmq.purge_queue(${name}) as removed`).toEqual([{ removed: '1' }])
  })
})

describe('metrics', () => {
  test('of a queue that was never used are zero', async () => {
    expect(await sql`select * from pgmq.metrics(${queue})`).toMatchObject([
      {
        queue_name: queue,
        queue_length: '0',
        newest_msg_age_sec: null,
        oldest_msg_age_sec: null,
        total_messages: '0',
        scrape_time: expect.any(Date),
        queue_visible_length: '0',
      },
    ])
  })

  test('count all rows, visible rows and all that were ever sent, and age by enqueued_at', async () => {
    await send(1, 2, 3, 4)
    await sql`select pgmq.delete(${queue}, 4), pgmq.set_vt(${queue}, 1, 60)`
    await sql`update ${table('q')} set enqueued_at = clock_timestamp() - msg_id * interval '100 seconds'`
    expect(await sql`select * from pgmq.metrics(${queue})`).toMatchObject([
      {
        queue_length: '3',
        queue_visible_length: '2',
        total_messages: '4',
        newest_msg_age_sec: 100,
        oldest_msg_age_sec: 300,
      },
    ])
  })

  test('metrics_all has a row of every listed queue', async () => {
    await send(1)
    const rows = await sql`select queue_name, queue_length from pgmq.metrics_all()`
    expect(rows).toHaveLength((await sql`select from pgmq.list_queues()`).length)
    expect(rows).toContainEqual({ queue_name: queue, queue_length: '1' })
  })
})

describe('rights', () => {
  test('everything belongs to postgres, who created the extension', async () => {
    const [row] = await sql`
      select (select array_agg(distinct proowner::regrole::text) from pg_proc where pronamespace = 'pgmq'::regnamespace) as functions,
             (select array_agg(distinct relowner::regrole::text) from pg_class where relnamespace = 'pgmq'::regnamespace) as relations`
    expect(row).toEqual({ functions: ['postgres'], relations: ['postgres'] })
  })

  test.each(['anon', 'authenticated', 'service_role'] as const)(
    '%s can do nothing until postgres grants it',
    async (role) => {
      const client = database.as(role)
      const denied = expect.objectContaining({ code: '42501' })
      await expect(client`select * from pgmq.read(${queue}, 0, 1)`).rejects.toEqual(denied)
      await expect(client`select pgmq.send(${queue}, '{}')`).rejects.toEqual(denied)
      await expect(client`select * from pgmq.list_queues()`).rejects.toEqual(denied)
      await expect(client`select * from ${table('q')}`).rejects.toEqual(denied)
    },
  )

  test('postgres can grant the use of a queue', async () => {
    const client = database.as('service_role')
    await sql`grant usage on schema pgmq to service_role`
    await sql`grant select, insert, update, delete on ${table('q')}, ${table('a')} to service_role`
    await client`select pgmq.send(${queue}, '{"from": "service_role"}')`
    expect(await client`select message from pgmq.read(${queue}, 30, 1)`).toEqual([
      { message: { from: 'service_role' } },
    ])
    await sql`revoke usage on schema pgmq from service_role`
  })
})
