import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TestDatabase, testDatabase } from '../../../tests/support/test-database.ts'
import {
  type CommandOutcome,
  type DocumentedCommand,
  documentedCommands,
  follow,
} from './support/documented-commands.ts'
import { SampleProject } from './support/sample-project.ts'
import { SimulatedWorkers } from './support/simulated-workers.ts'

/** Each page is followed on its own: with a flow that runs, its functions deployed, and a Supabase CLI that only notes down. */
const database: TestDatabase = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)
const V1 = { ordersv1__pay: 'ordersv1__pay', ordersv1__ship: 'ordersv1__ship' }
const V2 = { ordersv2__pay: 'ordersv2__pay', ordersv2__ship: 'ordersv2__ship' }

const source = (slug: string, exported: string) => `
import { Flow, withStepQueues } from '@starflow/dsl'
const flow = new Flow<{ id: number }>({ slug: '${slug}' })
  .step({ slug: 'pay' }, ({ id }) => id)
  .step({ slug: 'ship', dependsOn: ['pay'] }, ({ pay }) => pay)
export const ${exported} = withStepQueues(flow)
`

let project: SampleProject
let workers: SimulatedWorkers

async function compile(slug: string): Promise<void> {
  const flow = withStepQueues(
    new Flow<{ id: number }>({ slug })
      .step({ slug: 'pay' }, ({ id }) => id)
      .step({ slug: 'ship', dependsOn: ['pay'] }, ({ pay }) => pay),
  )
  await core.ensureFlowCompiled({
    flowSlug: slug,
    shape: extractFlowShape(flow.flow),
    queueMode: 'step',
    routeMap: flow.routes,
  })
}

beforeEach(async () => {
  for (const { slug } of await sql<{ slug: string }[]>`select flow_slug as slug from pgflow.flows`) {
    await sql`select pgflow.delete_flow_and_data(${slug})`
  }
  await sql`delete from pgflow.workers`
  await sql`delete from pgflow.worker_functions`
  await sql`delete from pgflow.settings`
  await compile('ordersV1')
  for (const name of Object.keys(V1)) await core.trackWorkerFunction(name)
  project = new SampleProject({ 'supabase/functions/_flows/orders-v1.ts': source('ordersV1', 'ordersV1') })
  await project.generate()
  project.write('bin/supabase', `#!/bin/sh\necho "$@" >> "${join(project.root, 'deployments')}"\n`)
  chmodSync(join(project.root, 'bin/supabase'), 0o755)
  workers = new SimulatedWorkers(sql, { ...V1, ...V2 })
  await workers.start()
})
afterEach(async () => {
  await workers.stop()
  project.dispose()
})

const deployments = () => {
  const file = join(project.root, 'deployments')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}
const functions = async () =>
  Object.fromEntries(
    (await sql`select function_name, enabled, fenced_by from pgflow.worker_functions`).map((row) => [
      row.function_name,
      row.fenced_by ?? row.enabled,
    ]),
  )

/** Follows all commands of a page. `expected` says what is not simply "exit code 0"; `before` is what the prose asks for. */
async function followPage(
  page: string,
  options: {
    readonly exitCodes?: Readonly<Record<string, number>>
    readonly before?: (command: DocumentedCommand) => Promise<void>
  } = {},
): Promise<Map<string, CommandOutcome>> {
  const outcomes = new Map<string, CommandOutcome>()
  const env = { DATABASE_URL: database.url, PATH: `${join(project.root, 'bin')}:${process.env.PATH}` }
  for (const command of documentedCommands(`operations/${page}`)) {
    await options.before?.(command)
    const outcome = await follow(command, { projectDir: project.root, sql, env })
    expect(outcome, command.text).toMatchObject({ exitCode: options.exitCodes?.[command.text] ?? 0 })
    outcomes.set(command.text, outcome)
  }
  return outcomes
}

describe('whoever follows a page of docs/operations', () => {
  test('in-place-replacement.md replaces the workers of a flow, with the command and by hand', async () => {
    const outcomes = await followPage('in-place-replacement.md', {
      before: async ({ text }) => {
        if (!text.includes('pgflow.drained(')) return
        while ((await sql.unsafe(text))[0]!.drained !== true) await new Promise((resolve) => setTimeout(resolve, 50))
      },
    })
    expect(outcomes.get('npx starflow rollout --flow ordersV1 --dry-run')!.output).toContain('Nothing was changed.')
    const deployed = 'functions deploy ordersv1__pay ordersv1__ship --use-api'
    expect(deployments()).toEqual([deployed, deployed])
    expect(await functions()).toEqual({ ordersv1__pay: true, ordersv1__ship: true })
  })

  test('fence.md stops the workers of a flow, finds out who did, and lets them go on', async () => {
    await core.startFlows('ordersV1', [{ id: 1 }])
    await sql`select pgmq.send('ordersv1__ship', '{}')`
    const outcomes = await followPage('fence.md', {
      before: async ({ text }) => {
        if (text !== 'npx starflow queues unsupported') return
        await sql`update pgflow.worker_functions set enabled = false, disabled_reason = 'halted' where function_name = 'ordersv1__ship'`
      },
    })
    expect(outcomes.get('npx starflow functions list')!.output).toContain('fenced by ana')
    expect(outcomes.get('npx starflow queues unsupported')!.output).toContain('ordersv1__ship')
    expect(outcomes.get('npx starflow queues unsupported --archive')!.output).toContain('1 archived')
    expect(await functions()).toEqual({ ordersv1__pay: true, ordersv1__ship: true })
  })

  test('new-version.md brings up a version beside the old one, lets that drain, and retires it', async () => {
    const outcomes = await followPage('new-version.md', {
      before: async ({ text }) => {
        if (text.endsWith('functions generate')) {
          project.write('supabase/functions/_flows/orders-v2.ts', source('ordersV2', 'ordersV2'))
        }
        // What the deployed workers do when they start.
        if (text.includes('rollout --to ordersV2') && !text.includes('--retire')) await compile('ordersV2')
      },
    })
    expect(deployments()).toEqual([
      'functions deploy ordersv1__pay ordersv1__ship ordersv2__pay ordersv2__ship --use-api',
    ])
    expect(outcomes.get('npx starflow drain-status')!.output).toMatch(/ordersV1 +0 +0 +2 +drained/)
    expect(await functions()).toEqual({ ordersv2__pay: true, ordersv2__ship: true })
  })

  test('coverage.md sees a queue whose work is not being done, in the CLI and by its queries, and finds out why', async () => {
    await core.startFlows('ordersV1', [{ id: 1 }])
    await sql`update pgmq.q_ordersv1__pay set enqueued_at = now() - interval '10 minutes'`
    const outcomes = await followPage('coverage.md', {
      exitCodes: { 'npx starflow coverage': 1, 'npx starflow doctor': 1 },
      before: async ({ text }) => {
        // The one that looks after a deployment sees its workers.
        const isMended = text.includes('--strict')
        await sql`update pgflow.worker_functions set enabled = ${isMended}, disabled_reason = 'by hand' where function_name = 'ordersv1__pay'`
        await core.reportStartFailure('ordersv1__pay', 'FlowShapeMismatchError: the code has another shape')
      },
    })
    const found = [...outcomes.values()].filter((outcome) => outcome.rows.length > 0)
    expect(found[0]!.rows).toMatchObject([{ flow_slug: 'ordersV1', step_slug: 'pay', depth: 1, fence: 'by hand' }])
    expect(outcomes.get('npx starflow functions list')!.output).toMatch(/failed starts: FlowShapeMismatchError/)
    expect(found.some((outcome) => 'missing' in outcome.rows[0]! && outcome.rows[0].is_ready === false)).toBe(true)
    expect(await sql`select pgflow.get_setting('functions_base_url') as url`).toEqual([
      { url: 'https://api.example.com/functions/v1' },
    ])
  })

  test('restore.md finds what lost its messages, and sends them again', async () => {
    const [runId] = await core.startFlows('ordersV1', [{ id: 1 }])
    await sql`delete from pgmq.q_ordersv1__pay`
    const outcomes = await followPage('restore.md')
    expect(outcomes.get('npx starflow repair --dry-run')!.output).toContain('1 task without a message')
    expect(outcomes.get('npx starflow repair')!.output).toContain('1 message sent again.')
    expect([...outcomes.values()].flatMap(({ rows }) => rows.flat())).toContainEqual({ sent: 0 })
    expect(
      await sql`select t.run_id from pgflow.step_tasks t join pgmq.q_ordersv1__pay q on q.msg_id = t.message_id`,
    ).toEqual([{ run_id: runId }])
  })

  test('retention.md deletes what ended long ago, once and from then on', async () => {
    await sql`create extension if not exists pg_cron`
    const [old, open] = await core.startFlows('ordersV1', [{ id: 1 }, { id: 2 }])
    await sql`select pgflow.cancel_run(${old!})`
    await sql`update pgflow.runs set started_at = started_at - interval '1 year', cancelled_at = cancelled_at - interval '1 year'`
    const outcomes = await followPage('retention.md')
    expect(outcomes.get('npx starflow prune --older-than 30days --dry-run')!.output).toContain('1 run that ended')
    expect(await sql`select run_id from pgflow.runs`).toEqual([{ run_id: open }])
    expect(await sql`select from cron.job where jobname = 'pgflow_prune_data'`).toHaveLength(0)
  })

  test.each(['limits.md', 'README.md'])(
    '%s asks the doctor, who finds what this bare database lacks',
    async (page) => {
      const command = 'npx starflow doctor'
      const outcomes = await followPage(page, { exitCodes: { [command]: 1 } })
      expect(outcomes.get(command)!.output).toContain('2 workers of 2 enabled functions: 8 connections × 2 = 16 of')
    },
    60_000,
  )
})
