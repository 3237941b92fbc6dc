import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { articles } from './support/articles-flow.ts'
import { type RunningFunction, workerFunctionOn } from './support/running-function.ts'

const { sql, url, as } = await testDatabase()
const page = readFileSync(new URL('../../../docs/guides/waits.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```(sql|ts)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
  language: language as 'sql' | 'ts',
  text: text as string,
}))
const statements = blocks.filter(({ language }) => language === 'sql').map(({ text }) => text)

const workers: RunningFunction[] = []
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** Does what the next SQL block of the page says, with what `<…>` stands for. */
async function follow(values: Record<string, string> = {}, client = sql): Promise<Record<string, unknown>[]> {
  const text = statements.shift()
  if (text === undefined) throw new Error('the page says no more')
  const filled = Object.entries(values).reduce((all, [name, value]) => all.replaceAll(`<${name}>`, value), text)
  expect(filled, 'every placeholder is known').not.toMatch(/<\w+>/)
  return [...(await client.unsafe(filled))]
}

const run = async (runId: string) => (await sql`select status, output from pgflow.runs where run_id = ${runId}`)[0]
const tokenOf = async (runId: string) => {
  const [row] = await sql<{ token: string }[]>`select token from public.approval_requests where run_id = ${runId}`
  return row!.token
}
const isWaiting = async (runId: string) =>
  (await sql`select from pgflow.open_waits where run_id = ${runId}`).length === 1

test('the guide to waits can be followed: workers run its flow, and never see the wait', async () => {
  const source = readFileSync(new URL('./support/articles-flow.ts', import.meta.url), 'utf8')
  expect(blocks.find(({ language }) => language === 'ts')?.text).toBe(source)
  await follow()
  await follow()
  workers.push(...articles.routes.map(({ stepSlug }) => workerFunctionOn(url, articles, { stepSlug })))
  await Promise.all(workers.map((worker) => worker.ask()))
  expect(articles.routes.map(({ stepSlug }) => stepSlug)).toEqual(['draft', 'ask', 'publish'])

  const runId = (await follow())[0]!.run_id as string
  await until(() => isWaiting(runId))
  expect(await follow()).toEqual([{ flow_slug: 'articlesV1', step_slug: 'approve', is_far_away: true }])
  const token = await tokenOf(runId)
  expect(await follow({ token })).toEqual([{ outcome: 'accepted' }])
  expect(await follow({ token })).toEqual([{ outcome: 'already_resumed' }])
  await until(async () => (await run(runId))!.status === 'completed')
  expect(await run(runId)).toMatchObject({
    output: { publish: 'Waiting: it was a dark and stormy night. (released by ana)' },
  })
  const [task] = await sql`
    select attempts_count, message_id, last_worker_id from pgflow.step_tasks where run_id = ${runId} and step_slug = 'approve'`
  expect(task).toEqual({ attempts_count: 0, message_id: null, last_worker_id: null })
  const told = workers.flatMap(({ events }) => events).filter(({ level }) => level === 'warn' || level === 'error')
  expect(told).toEqual([])

  // Who may answer
  const [other] = await sql<
    [{ run_id: string }]
  >`select run_id from pgflow.start_flow('articlesV1', '{"title": "Later"}')`
  await until(() => isWaiting(other.run_id))
  await follow()
  const old = await tokenOf(other.run_id)
  const verdict = { approved: false, by: 'cleo' }
  const [refusedRun] = await as('anon')`select outcome from pgflow.resume_wait(${old}, ${sql.json(verdict)})`
  expect(refusedRun).toEqual({ outcome: 'accepted' })
  await until(async () => (await run(other.run_id))!.status === 'completed')
  expect(await run(other.run_id)).toMatchObject({ output: {} })

  // A new secret
  await follow()
  expect(await sql`select outcome from pgflow.resume_wait(${old})`).toEqual([{ outcome: 'already_resumed' }])
  const [renewed] = await sql<[{ token: string }]>`select pgflow.issue_wait_token(${runId}, 'approve') as token`
  await follow()
  await expect(sql`select pgflow.resume_wait(${old})`).rejects.toMatchObject({ code: 'SF207' })
  expect(await sql`select outcome from pgflow.resume_wait(${renewed.token})`).toEqual([{ outcome: 'already_resumed' }])
  expect(statements).toEqual([])
})
