import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const flow = await CompiledFlow.compileShape(sql, 'timely', shape({ a: {} }))

test('a database without pg_cron says what is missing', async () => {
  for (const call of [
    sql`select pgflow.schedule_flow('j', '* * * * *', 'timely', '{}')`,
    sql`select pgflow.unschedule_flow('j')`,
  ]) {
    expect(await refusal(call)).toMatchObject({ code: 'SF204', hint: 'Run: create extension pg_cron' })
  }
  await sql`create extension pg_cron`
})

const jobs = async () => await sql`select jobname, schedule, command from cron.job order by jobname`
const clear = async () => await sql`delete from cron.job`

describe('schedule_flow', () => {
  test('makes a job that starts a run with the input, and gives its id', async () => {
    const [row] = await sql`select pgflow.schedule_flow('nightly', '0 3 * * *', 'timely', '{"of": "the night"}') as id`
    const [job] = await sql<{ jobid: string; schedule: string; command: string }[]>`select * from cron.job`
    expect(job).toMatchObject({ jobid: row!.id, schedule: '0 3 * * *' })
    await sql.unsafe(job!.command)
    expect(await sql`select input, status, owner from pgflow.runs`).toEqual([
      { input: { of: 'the night' }, status: 'started', owner: null },
    ])
    await clear()
  })

  test('under the same name replaces schedule and input', async () => {
    await sql`select pgflow.schedule_flow('often', '10 seconds', 'timely', '1')`
    await sql`select pgflow.schedule_flow('often', '20 seconds', 'timely', '2')`
    expect(await jobs()).toEqual([
      { jobname: 'often', schedule: '20 seconds', command: `select pgflow.start_flow('timely', '2'::jsonb)` },
    ])
    await clear()
  })

  test.each([
    [`'); drop table pgflow.runs; --`],
    [String.raw`back\slash \' and "quotes"`],
    ['$$ select 1 $$'],
    ['line\nbreak \u2028 ünicode 🐘'],
  ])('hands an input on exactly as it is: %j', async (text) => {
    const name = `job ${text}`
    await sql`select pgflow.schedule_flow(${name}, '1 seconds', 'timely', ${JSON.stringify({ [text]: text })}::text::jsonb)`
    const [job] = await sql<{ command: string }[]>`select command from cron.job where jobname = ${name}`
    const [started] = await sql.unsafe(job!.command)
    expect(started).toBeDefined()
    const inputs = await sql<{ input: object }[]>`select input from pgflow.runs`
    expect(inputs.map((row) => row.input)).toContainEqual({ [text]: text })
    expect(await sql`select pgflow.unschedule_flow(${name}) as removed`).toEqual([{ removed: true }])
  })

  test('names an unknown flow and those that are known', async () => {
    expect(await refusal(sql`select pgflow.schedule_flow('j', '* * * * *', 'Timely', '{}')`)).toMatchObject({
      code: 'SF201',
      message: 'Flow "Timely" does not exist.',
      detail: 'Flows here: timely.',
    })
  })

  test('refuses an input that is NULL, which every run would fail with', async () => {
    expect((await refusal(sql`select pgflow.schedule_flow('j', '* * * * *', 'timely', null)`)).code).toBe('SF203')
  })

  test('leaves a schedule that pg_cron does not understand to its error', async () => {
    expect((await refusal(sql`select pgflow.schedule_flow('j', 'now and then', 'timely', '{}')`)).message).toContain(
      'invalid schedule',
    )
    expect(await jobs()).toEqual([])
  })

  test('never replaces a job that is none of its own', async () => {
    await sql`select cron.schedule('backup', '0 1 * * *', 'select 1')`
    await sql`select pgflow.setup_ensure_workers_cron()`
    const before = await jobs()
    for (const name of ['backup', 'pgflow_ensure_workers']) {
      expect(await refusal(sql`select pgflow.schedule_flow(${name}, '* * * * *', 'timely', '{}')`)).toMatchObject({
        code: 'SF205',
        message: `Job "${name}" is not a schedule of a flow.`,
      })
    }
    expect(await jobs()).toEqual(before)
    await clear()
  })
})

test('the server, which may not use pg_cron itself, makes, replaces and removes schedules', async () => {
  const server = database.as('service_role')
  expect((await refusal(server`select cron.schedule('direct', '* * * * *', 'select 1')`)).code).toBe('42501')
  await server`select pgflow.schedule_flow('served', '10 seconds', 'timely', '1')`
  await server`select pgflow.schedule_flow('served', '20 seconds', 'timely', '2')`
  const [job] = await sql<{ command: string }[]>`select schedule, username, command from cron.job`
  expect(job).toMatchObject({ schedule: '20 seconds', username: 'postgres' })
  expect(await sql.unsafe(job!.command)).toHaveLength(1)
  await sql`select cron.schedule('backup', '0 1 * * *', 'select 1')`
  expect((await refusal(server`select pgflow.schedule_flow('backup', '* * * * *', 'timely', '1')`)).code).toBe('SF205')
  expect(
    await server`select pgflow.unschedule_flow('served') as removed, pgflow.unschedule_flow('backup') as foreign_removed`,
  ).toEqual([{ removed: true, foreign_removed: false }])
  await clear()
})

test.each(['anon', 'authenticated'] as const)('%s schedules nothing', async (role) => {
  const client = database.as(role)
  await sql`select pgflow.grant_client_access(${role})`
  expect((await refusal(client`select pgflow.schedule_flow('mine', '* * * * *', 'timely', '1')`)).code).toBe('42501')
  expect((await refusal(client`select pgflow.unschedule_flow('mine')`)).code).toBe('42501')
  await sql`select pgflow.revoke_client_access(${role})`
})

describe('unschedule_flow', () => {
  test('removes its job once', async () => {
    await sql`select pgflow.schedule_flow('once', '* * * * *', 'timely', '{}')`
    expect(await sql`select pgflow.unschedule_flow('once') as removed`).toEqual([{ removed: true }])
    expect(await sql`select pgflow.unschedule_flow('once') as removed`).toEqual([{ removed: false }])
    expect(await jobs()).toEqual([])
  })

  test('leaves jobs that are none of its own', async () => {
    await sql`select cron.schedule('backup', '0 1 * * *', 'select 1')`
    expect(await sql`select pgflow.unschedule_flow('backup') as removed`).toEqual([{ removed: false }])
    expect(await jobs()).toHaveLength(1)
    await clear()
  })
})

test('a schedule whose flow is deleted fails by itself and says why', async () => {
  await sql`select pgflow.schedule_flow('orphan', '* * * * *', 'timely', '{}')`
  await sql`select pgflow.delete_flow_and_data(${flow.slug})`
  const [job] = await sql<{ command: string }[]>`select command from cron.job`
  expect(await refusal(sql.unsafe(job!.command))).toMatchObject({ code: 'SF201' })
})
