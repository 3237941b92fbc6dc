import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { startTicker } from './support/ticker.ts'

const database = await testDatabase({ template: 'platform' })
const { sql } = database
const admin = database.as('supabase_admin')

beforeAll(async () => {
  await sql`create extension pg_cron`
  await sql`create table ticks (id bigint generated always as identity, job text, who text, extra text)`
})
afterEach(async () => {
  await admin`delete from cron.job`
  await admin`delete from cron.job_run_details`
  await sql`truncate ticks`
})

/** Four times as fast as the clock on the wall, for tests that do not measure time. */
const faster = (factor = 4) => {
  const start = Date.now()
  return { now: () => start + (Date.now() - start) * factor, intervalMs: 25 }
}
const POLL = { timeout: 60_000, interval: 20 }
const ticks = async (job: string) => Number((await sql`select count(*) from ticks where job = ${job}`)[0]!.count)
const runs = () =>
  admin`select j.jobname, d.* from cron.job_run_details d left join cron.job j using (jobid) order by runid`

test('a job of one second runs each second as its user, and each run is recorded', async () => {
  await sql`select cron.schedule('a', '1 second', ${`insert into ticks (job, who) values ('a', session_user || ' ' || current_user)`})`
  startTicker(database.name)
  await vi.waitUntil(async () => (await ticks('a')) >= 2, POLL)
  const [{ between }] = (await sql`
    select extract(epoch from max(start_time) - min(start_time))::float8 as between
    from (select start_time from cron.job_run_details order by runid limit 2) first_two`) as unknown as [
    { between: number },
  ]
  expect(between).toBeGreaterThan(0.8)
  expect(between).toBeLessThan(2)
  expect(await sql`select distinct who from ticks`).toMatchObject([{ who: 'postgres postgres' }])
  await vi.waitUntil(async () => (await runs())[0]?.status === 'succeeded', POLL)
  expect((await runs())[0]).toMatchObject({
    database: database.name,
    username: 'postgres',
    return_message: 'INSERT 1',
    job_pid: expect.any(Number),
    end_time: expect.any(Date),
  })
})

test('a job cannot act as the superuser, by whatever way back it tries', async () => {
  await sql`select cron.schedule('escape', '1 second', ${`
    do $job$
    declare v_try text; v_seen text := '';
    begin
      foreach v_try in array array[
        'reset role', 'reset session authorization', 'set role none', 'set session authorization default',
        'set role supabase_admin', 'set session authorization supabase_admin'
      ] loop
        begin
          execute v_try;
        exception when others then null;
        end;
        v_seen := v_seen || ' ' || session_user || '/' || current_user;
      end loop;
      insert into ticks (job, who, extra)
      select 'escape', v_seen, rolsuper::text from pg_roles where rolname = current_user;
    end $job$`})`
  startTicker(database.name, faster())
  await vi.waitUntil(async () => (await ticks('escape')) >= 1, POLL)
  const [seen] = await sql`select who, extra from ticks limit 1`
  expect(seen).toEqual({ who: ' postgres/postgres'.repeat(6), extra: 'false' })
})

test('a job of a role that cannot log in fails and says so, and never runs as somebody else', async () => {
  await admin`grant insert on ticks to anon`
  await admin`
    insert into cron.job (jobname, schedule, command, username)
    values ('anon', '1 second', 'insert into ticks (job) values (''anon'')', 'anon')`
  const { log } = startTicker(database.name, faster())
  expect((await log.next('ticker.job_failed')).message).toContain('role "anon" cannot log in')
  await vi.waitUntil(async () => (await runs()).some(({ status }) => status === 'failed'), POLL)
  expect(await ticks('anon')).toBe(0)
})

test('a job never runs twice at once, and does not hold up another one', async () => {
  const [lock] = await sql`select 77 as key`
  const holder = await sql.reserve()
  await holder`select pg_advisory_lock(${lock!.key})`
  await sql`select cron.schedule('slow', '1 second', ${`
    insert into ticks (job) values ('slow');
    select pg_advisory_lock(77), pg_advisory_unlock(77)`})`
  await sql`select cron.schedule('clock', '1 second', ${`insert into ticks (job) values ('clock')`})`
  startTicker(database.name, faster())
  await vi.waitUntil(async () => (await ticks('clock')) >= 3, POLL)
  expect((await runs()).filter(({ jobname }) => jobname === 'slow')).toMatchObject([{ status: 'running' }])
  await holder`select pg_advisory_unlock(${lock!.key})`
  holder.release()
  await vi.waitUntil(async () => (await runs()).filter(({ jobname }) => jobname === 'slow').length >= 2, POLL)
  const [first, second] = (await runs()).filter(({ jobname }) => jobname === 'slow')
  expect(second!.start_time.getTime()).toBeGreaterThanOrEqual(first!.end_time.getTime())
})

test('new, changed, deactivated and removed jobs are noticed', async () => {
  startTicker(database.name, faster())
  const [{ id }] = (await sql`
    select cron.schedule('a', '1 second', ${`insert into ticks (job) values ('one')`})::int as id`) as unknown as [
    { id: number },
  ]
  await vi.waitUntil(async () => (await ticks('one')) >= 1, POLL)
  await sql`select cron.schedule('a', '1 second', ${`insert into ticks (job) values ('two')`})`
  await vi.waitUntil(async () => (await ticks('two')) >= 1, POLL)
  await sql`select cron.alter_job(${id}, active => false)`
  await sql`select cron.schedule('gone', '1 second', ${`insert into ticks (job) values ('gone')`})`
  await vi.waitUntil(async () => (await ticks('gone')) >= 1, POLL)
  await sql`select cron.unschedule('gone')`
  await sql`select cron.schedule('clock', '1 second', ${`insert into ticks (job) values ('clock')`})`
  await vi.waitUntil(async () => (await ticks('clock')) >= 1, POLL)
  const stopped = [await ticks('two'), await ticks('gone')]
  await vi.waitUntil(async () => (await ticks('clock')) >= 3, POLL)
  expect([await ticks('two'), await ticks('gone')]).toEqual(stopped)
})

test('a job of minutes runs when its minute comes, once', async () => {
  let now = Date.parse('2026-03-01T10:15:30.000Z')
  await sql`select cron.schedule('minutely', '* * * * *', ${`insert into ticks (job) values ('minutely')`})`
  await sql`select cron.schedule('clock', '1 second', ${`insert into ticks (job) values ('clock')`})`
  startTicker(database.name, { now: () => now, intervalMs: 20 })
  const clockTicks = async () => {
    const before = await ticks('clock')
    now += 1_000
    await vi.waitUntil(async () => (await ticks('clock')) > before, POLL)
  }
  // Both jobs are noticed in one pass: when the clock has ticked the other one waits for its minute.
  await vi.waitUntil(
    async () => {
      now += 100
      return (await ticks('clock')) > 0
    },
    { timeout: 60_000, interval: 100 },
  )
  expect(await ticks('minutely')).toBe(0)
  now = Date.parse('2026-03-01T10:16:00.000Z')
  await vi.waitUntil(async () => (await ticks('minutely')) === 1, POLL)
  await clockTicks()
  await clockTicks()
  expect(await ticks('minutely')).toBe(1)
})

test('a failing job is recorded with its error and runs again', async () => {
  await sql`select cron.schedule('bad', '1 second', 'select 1/0')`
  const { log } = startTicker(database.name, faster())
  await vi.waitUntil(async () => (await runs()).filter(({ status }) => status === 'failed').length >= 2, POLL)
  expect((await runs())[0]).toMatchObject({ return_message: 'ERROR:  division by zero' })
  expect(log.of('ticker.job_failed')[0]).toMatchObject({ jobName: 'bad', message: 'ERROR:  division by zero' })
})

test('nothing that a run sets in its session is there in the next run', async () => {
  await sql`select cron.schedule('a', '1 second', ${`
    insert into ticks (job, extra) select 'a', current_setting('test.left', true);
    select set_config('test.left', 'behind', false);
    create temp table mine ()`})`
  startTicker(database.name, faster())
  await vi.waitUntil(async () => (await ticks('a')) >= 2, POLL)
  expect((await sql`select coalesce(extra, '') as extra from ticks`).map(({ extra }) => extra)).not.toContain('behind')
})

test('only the last runs of a job are kept', async () => {
  await sql`select cron.schedule('fast', '1 second', 'insert into ticks (job) values (''fast'')')`
  startTicker(database.name, { ...faster(100), keptRuns: 5 })
  await vi.waitUntil(async () => (await ticks('fast')) >= 45, POLL)
  expect((await runs()).length).toBeLessThanOrEqual(5 + 20 + 1)
})

test('jobs go on after all connections were lost', async () => {
  await sql`select cron.schedule('a', '1 second', ${`insert into ticks (job) values ('a')`})`
  startTicker(database.name, faster())
  await vi.waitUntil(async () => (await ticks('a')) >= 1, POLL)
  await admin`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${database.name} and application_name in ('starflow ticker', 'pg_cron')`
  const before = await ticks('a')
  await vi.waitUntil(async () => (await ticks('a')) >= before + 2, POLL)
})

test('stop breaks off a running job and leaves no connection', async () => {
  await sql`select cron.schedule('long', '1 second', 'select pg_sleep(600)')`
  const { ticker } = startTicker(database.name, faster())
  await vi.waitUntil(async () => (await runs()).length >= 1, POLL)
  await ticker.stop()
  await ticker.stop()
  await vi.waitUntil(
    async () =>
      (
        await admin`select from pg_stat_activity where datname = ${database.name} and application_name = 'starflow ticker'`
      ).length === 0,
    POLL,
  )
  expect(await runs()).toMatchObject([{ status: 'failed' }])
})

test('a run that an earlier ticker left open is closed as failed', async () => {
  await admin`insert into cron.job_run_details (jobid, status, start_time) values (1, 'running', now())`
  startTicker(database.name, faster())
  await vi.waitUntil(async () => (await runs())[0]!.status === 'failed', POLL)
  expect(await runs()).toMatchObject([{ return_message: 'server restarted' }])
})
