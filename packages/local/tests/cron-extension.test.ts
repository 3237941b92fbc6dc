import { afterEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'

const database = await testDatabase({ template: 'platform' })
const { sql } = database
// The form of the hosted dashboard.
await sql`create extension if not exists pg_cron with schema pg_catalog`
await sql`grant usage on schema cron to postgres`
await sql`grant all privileges on all tables in schema cron to postgres`

afterEach(() => sql`delete from cron.job`)

const jobs = () => sql`select * from cron.job order by jobid`
const denied = expect.objectContaining({ code: '42501' })

describe('cron.schedule', () => {
  test('adds a job of the calling role in this database', async () => {
    const [row] = await sql`select cron.schedule('*/5 * * * *', 'select 1') as jobid`
    expect(await jobs()).toEqual([
      {
        jobid: row?.jobid,
        schedule: '*/5 * * * *',
        command: 'select 1',
        nodename: 'localhost',
        nodeport: expect.any(Number),
        database: database.name,
        username: 'postgres',
        active: true,
        jobname: null,
      },
    ])
  })

  test('with a name that exists changes that job', async () => {
    const [first] = await sql`select cron.schedule('nightly', '0 3 * * *', 'select 1') as jobid`
    const [second] = await sql`select cron.schedule('nightly', '0 4 * * *', 'select 2') as jobid`
    expect(second).toEqual(first)
    expect(await jobs()).toMatchObject([{ jobname: 'nightly', schedule: '0 4 * * *', command: 'select 2' }])
  })

  test('in a definer function makes a job of its owner', async () => {
    await sql`create function public.set_up() returns bigint language sql security definer
      as $$ select cron.schedule('of_owner', '1 second', 'select 1') $$`
    await database.as('authenticated')`select public.set_up()`
    expect(await jobs()).toMatchObject([{ jobname: 'of_owner', username: 'postgres' }])
  })

  test.each([
    '1 second',
    '30 seconds',
    '59 Seconds',
    '* * * * *',
    '0 0 1 1 0',
    '*/15 0-6/2 1,15 jan-mar mon,WED',
    '5 4 * * 7',
    ' 5  4\t* * * ',
    '@hourly',
    '@daily',
  ])('accepts %j', async (schedule) => {
    await sql`select cron.schedule(${schedule}, 'select 1')`
    expect(await jobs()).toMatchObject([{ schedule }])
  })

  test.each([
    '',
    'junk',
    '0 seconds',
    '60 seconds',
    '-1 seconds',
    '1 minute',
    '5',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '* * * * jan',
    '5-1 * * * *',
    '1,,2 * * * *',
    '5/10 * * * *',
    '*/0 * * * *',
    '@reboot',
  ])('refuses %j and adds nothing', async (schedule) => {
    await expect(sql`select cron.schedule(${schedule}, 'select 1')`).rejects.toMatchObject({
      code: '22023',
      message: `invalid schedule: ${schedule}`,
      detail: expect.stringMatching(/\.$/),
      hint: expect.stringContaining('5 4 * * *'),
    })
    expect(await jobs()).toHaveLength(0)
  })

  test('refuses a null name', async () => {
    await expect(sql`select cron.schedule(null, '* * * * *', 'select 1')`).rejects.toThrow('job_name can not be NULL')
  })
})

describe('cron.unschedule', () => {
  test('removes a job by id and by name', async () => {
    const [row] = await sql`select cron.schedule('* * * * *', 'select 1') as jobid`
    await sql`select cron.schedule('named', '* * * * *', 'select 1')`
    expect(await sql`select cron.unschedule(${row?.jobid}::bigint) as done`).toEqual([{ done: true }])
    expect(await sql`select cron.unschedule('named') as done`).toEqual([{ done: true }])
    expect(await jobs()).toHaveLength(0)
  })

  test('names the job that does not exist', async () => {
    await expect(sql`select cron.unschedule(4711)`).rejects.toThrow("could not find valid entry for job '4711'")
    await expect(sql`select cron.unschedule('nope')`).rejects.toThrow("could not find valid entry for job 'nope'")
  })
})

describe('cron.alter_job', () => {
  test('changes only what it is given', async () => {
    const [row] = await sql`select cron.schedule('a', '* * * * *', 'select 1') as jobid`
    await sql`select cron.alter_job(${row?.jobid}, schedule => '5 seconds')`
    await sql`select cron.alter_job(job_id => ${row?.jobid}, active => false)`
    expect(await jobs()).toMatchObject([{ jobname: 'a', schedule: '5 seconds', command: 'select 1', active: false }])
  })

  test('refuses a bad schedule, a missing job and another database', async () => {
    const [row] = await sql`select cron.schedule('a', '* * * * *', 'select 1') as jobid`
    await expect(sql`select cron.alter_job(${row?.jobid}, 'junk')`).rejects.toThrow('invalid schedule: junk')
    await expect(sql`select cron.alter_job(4711, active => false)`).rejects.toThrow('Job 4711 does not exist')
    await expect(sql`select cron.alter_job(${row?.jobid}, database => 'other')`).rejects.toMatchObject({
      code: '0A000',
    })
    expect(await jobs()).toMatchObject([{ schedule: '* * * * *', database: database.name }])
  })
})

describe('whose job it is', () => {
  test('a job runs as who may write it: postgres cannot make or change one of the superuser', async () => {
    const insert = sql`insert into cron.job (schedule, command, username) values ('* * * * *', 'select 1', 'supabase_admin')`
    await expect(insert).rejects.toEqual(denied)
    const [row] = await database.as('supabase_admin')`select cron.schedule('* * * * *', 'select 1') as jobid`
    await expect(sql`update cron.job set command = 'select 2' where jobid = ${row?.jobid}`).rejects.toEqual(denied)
    await expect(sql`select cron.alter_job(${row?.jobid}, command => 'select 2')`).rejects.toThrow("you don't own it")
    await expect(sql`select cron.unschedule(${row?.jobid}::bigint)`).rejects.toThrow('could not find valid entry')
  })

  test('a role that may use the schema sees and changes its own jobs only', async () => {
    await sql`grant usage on schema cron to authenticated`
    await sql`select cron.schedule('same name', '* * * * *', 'select 1')`
    const client = database.as('authenticated')
    await client`select cron.schedule('same name', '* * * * *', 'select 2')`
    expect(await client`select username, command from cron.job`).toEqual([
      { username: 'authenticated', command: 'select 2' },
    ])
    expect(await client`update cron.job set command = 'select 3' returning username`).toEqual([
      { username: 'authenticated' },
    ])
    await expect(client`update cron.job set username = 'postgres'`).rejects.toEqual(denied)
    await client`select cron.unschedule('same name')`
    expect(await jobs()).toMatchObject([{ username: 'postgres', command: 'select 1' }])
    await sql`revoke usage on schema cron from authenticated`
  })

  test('the superuser records runs, which their user reads and prunes', async () => {
    await database.as('supabase_admin')`
      insert into cron.job_run_details (jobid, job_pid, database, username, command, status, return_message, start_time, end_time)
      values (1, 42, ${database.name}, 'postgres', 'select 1', 'succeeded', '1 row', now() - interval '2 days', now())`
    expect(await sql`select runid, status from cron.job_run_details`).toEqual([{ runid: '1', status: 'succeeded' }])
    expect(
      await sql`delete from cron.job_run_details where start_time < now() - interval '1 day' returning jobid`,
    ).toEqual([{ jobid: '1' }])
  })
})
