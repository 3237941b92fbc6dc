import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { refusal } from './support/refusal.ts'

const { sql } = await testDatabase()
await sql`create extension pg_cron`

test('the set-up functions schedule the jobs that operators know by name', async () => {
  const [workers] = await sql`select pgflow.setup_ensure_workers_cron() as text`
  await sql`select pgflow.setup_requeue_stalled_tasks_cron()`
  expect(workers!.text).toContain('pgflow_ensure_workers')
  expect(await sql`select jobname, schedule, command from cron.job order by jobname`).toEqual([
    {
      jobname: 'pgflow_cleanup_logs',
      schedule: '0 * * * *',
      command: expect.stringContaining('pgflow.cleanup_ensure_workers_logs()'),
    },
    {
      jobname: 'pgflow_ensure_workers',
      schedule: '1 second',
      command: expect.stringContaining('pgflow.ensure_workers()'),
    },
    {
      jobname: 'pgflow_requeue_stalled_tasks',
      schedule: '15 seconds',
      command: expect.stringContaining('requeue_stalled_tasks'),
    },
  ])
})

test('setting up again changes the interval and adds no job', async () => {
  await sql`select pgflow.setup_ensure_workers_cron('5 seconds'), pgflow.setup_ensure_workers_cron('2 seconds')`
  expect(await sql`select schedule from cron.job where jobname = 'pgflow_ensure_workers'`).toEqual([
    { schedule: '2 seconds' },
  ])
})

test('the log clean-up removes old runs of our own jobs and of no other', async () => {
  await sql`select pgflow.setup_ensure_workers_cron(), pgflow.setup_requeue_stalled_tasks_cron()`
  await sql`select pgflow.setup_prune_data_cron('30 days'), starflow.setup_queue_samples_cron()`
  const ours = await sql`select jobname from cron.job`
  expect(ours).toHaveLength(5)
  await sql`select cron.schedule('somebody_elses', '30 seconds', 'select 1')`
  await sql`
    insert into cron.job_run_details (jobid, runid, command, status, start_time, end_time)
    select j.jobid, row_number() over (), j.command, 'succeeded', now() - age, now() - age
    from cron.job j cross join (values (interval '25 hours'), (interval '1 hour')) as a(age)
`
  expect(await sql`select * from pgflow.cleanup_ensure_workers_logs(24)`).toEqual([{ cron_deleted: '5' }])
  expect(
    await sql`select j.jobname, count(*)::integer from cron.job_run_details d join cron.job j on j.jobid = d.jobid group by 1 order by 1`,
  ).toEqual([
    { jobname: 'pgflow_cleanup_logs', count: 1 },
    { jobname: 'pgflow_ensure_workers', count: 1 },
    { jobname: 'pgflow_prune_data', count: 1 },
    { jobname: 'pgflow_requeue_stalled_tasks', count: 1 },
    { jobname: 'somebody_elses', count: 2 },
    { jobname: 'starflow_sample_queues', count: 1 },
  ])
})

test.each([
  `select pgflow.setup_ensure_workers_cron()`,
  `select pgflow.setup_requeue_stalled_tasks_cron()`,
  `select pgflow.setup_prune_data_cron('30 days')`,
  `select starflow.setup_queue_samples_cron()`,
  `select pgflow.cleanup_ensure_workers_logs()`,
])('without pg_cron %s says what is missing', async (statement) => {
  const refused = await refusal(
    sql.begin(async (tx) => {
      await tx`drop extension pg_cron`
      await tx.unsafe(statement)
    }),
  )
  expect(refused).toMatchObject({ code: 'SF204', hint: 'Run: create extension pg_cron' })
})
