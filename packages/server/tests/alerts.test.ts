import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Flow } from '@starflow/dsl'
import { LocalWorkflowStateAdapter } from '@starflow/engine/adapters/local'
import postgres, { type Sql } from 'postgres'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { CompiledFlow, failed } from '../../core/tests/support/compiled-flow.ts'
import { shape } from '../../core/tests/support/shape.ts'
import { PostgresAlertStore } from '../src/adapters/postgres-alert-store.ts'
import { directFunctions } from '../src/adapters/sql-functions.ts'
import { SqliteAlertStore } from '../src/adapters/sqlite-alert-store.ts'
import type { AlertDeclarations } from '../src/alerts/alert-declarations.ts'
import { type AlertBody, alertBody, type ShownProblem } from '../src/alerts/alert-message.ts'
import { AlertWatch, type AlertWatchOptions } from '../src/alerts/alert-watch.ts'
import type { ServerLog } from '../src/log.ts'
import { ALERT_LEASE_MS, ALERT_RESOLVE_AFTER_MS, ALERT_RETRY_MS, MAX_ALERT_ATTEMPTS } from '../src/numbers.ts'
import { readDeclarations } from '../src/triggers/read-declarations.ts'
import { schemeOf } from '../src/triggers/signatures/schemes.ts'
import { type LogLine, testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

const SECRETS = {
  ONCALL: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  ONCALL_OLD: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
}
const START = Date.parse('2026-11-29T12:00:00Z')
const MARK = 'a sentence that no alert may repeat'

function declared(alerts: string): AlertDeclarations {
  const { declarations, problems } = readDeclarations(`alerts:\n${alerts}`)
  if (declarations?.alerts === undefined) throw new Error(JSON.stringify(problems))
  return declarations.alerts
}

const ONCALL = '  webhooks: { oncall: { url: https://alerts.example.com/x, secrets: [ONCALL] } }\n'

/** What was sent, and what is answered. */
class Receiver {
  readonly sent: {
    readonly id: string
    readonly problems: readonly ShownProblem[]
    readonly headers: Headers
    readonly text: string
  }[] = []
  answer: 'taken' | 'refused' | 'never' = 'taken'

  readonly send: NonNullable<AlertWatchOptions['send']> = async ({ headers, body }) => {
    if (this.answer === 'never') return await new Promise<never>(() => {})
    const { data } = JSON.parse(body) as AlertBody
    this.sent.push({ id: headers['webhook-id']!, problems: data.problems, headers: new Headers(headers), text: body })
    return this.answer === 'taken' ? { isTaken: true, status: 200 } : { isTaken: false, reason: 'status 500' }
  }

  /** What was told so far, in short. */
  get told(): string[][] {
    return this.sent.map(({ problems }) => problems.map(({ rule, subject, status }) => `${rule} ${subject} ${status}`))
  }
}

function recorder(lines: LogLine[]): ServerLog {
  const write = (level: string) => (fields: object, message: string) => void lines.push({ ...fields, level, message })
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

describe('on Postgres', async () => {
  const { database } = await testStorage('supabase')
  const { sql } = database!
  await sql`select pgflow.set_setting('test_clock', 'on')`
  const connections: Sql[] = []
  const connect = () => {
    const connection = postgres(database!.url, { max: 1, onnotice: () => {} })
    connections.push(connection)
    return connection
  }
  afterAll(() => Promise.all(connections.map((each) => each.end())))
  const clocked = connect()
  const edges = [connect(), connect()].map((connection) => new PostgresAlertStore(directFunctions(connection)))
  const flow = await CompiledFlow.compileShape(clocked, 'parcelsV1', shape({ pack: { maxAttempts: 1 } }))

  let nowMs = START
  /** What the database takes for now, whoever asks. */
  async function at(ms: number): Promise<void> {
    nowMs = ms
    const instant = new Date(ms).toISOString()
    for (const each of connections) await each`select set_config('pgflow.test_now', ${instant}, false)`
    await sql`update pgflow.workers set queue_name = 'parcelsv1__pack', last_heartbeat_at = ${instant}`
  }
  const later = (ms: number) => at(nowMs + ms)

  function watch(alerts: string, receiver: Receiver, store = edges[0]!, log: LogLine[] = []): AlertWatch {
    return new AlertWatch({
      ...{ alerts: declared(alerts), store, databaseId: 'a database', env: SECRETS, send: receiver.send },
      ...{ log: recorder(log), now: () => nowMs },
    })
  }

  /** A run of the flow fails on step queues, with a message that is nobody's business. */
  async function failQueueRun(): Promise<string> {
    const [runId] = await flow.start({ note: MARK })
    const [task] = await flow.claim('pack')
    await flow.core.settleTasks(flow.workerId, [failed(task!, { errorMessage: MARK, permanent: true })])
    return runId!
  }

  async function failRunnerRun(slug: string): Promise<string> {
    const id = randomUUID()
    await clocked`select starflow.on_run_start(${id}, ${slug}, 'shop', 'prod', ${JSON.stringify(MARK)}::text::jsonb)`
    await clocked`select starflow.on_run_error(${id}, ${JSON.stringify({ name: 'Error', message: MARK })}::text::jsonb)`
    return id
  }

  let day = 0
  beforeEach(async () => {
    // Each test has a day of its own, and nothing that is wrong from the one before.
    await at(START + ++day * 86_400_000)
    await sql`delete from starflow.alert_problems`
    await sql`delete from starflow.alert_messages`
    await sql`delete from starflow.workflow_runs`
    await sql`select pgmq.purge_queue('parcelsv1__pack')`
  })

  test('a problem is told once, and once that it is over, however many edges look at the same moment', async () => {
    const receiver = new Receiver()
    const log: LogLine[] = []
    const both = edges.map((store) => watch(ONCALL, receiver, store, log))
    const look = () => Promise.all(both.map((each) => each.look()))
    const runId = await failQueueRun()
    for (let time = 0; time < 5; time++) await look()
    expect(receiver.told).toEqual([['failedRuns parcelsV1 open']])
    expect(receiver.sent[0]!.problems[0]).toMatchObject({
      ...{ facts: { runs: 1, runIds: [runId] }, summary: '1 run of flow "parcelsV1" failed.', resolvedAt: null },
      openedAt: new Date(nowMs).toISOString(),
    })
    await later(16 * 60_000)
    for (let time = 0; time < 5; time++) await look()
    expect(receiver.told.slice(1)).toEqual([['failedRuns parcelsV1 resolved']])
    expect(receiver.sent[1]!.problems[0]!.id).toBe(receiver.sent[0]!.problems[0]!.id)
    expect(log.map(({ message }) => message)).toEqual(['alert.opened', 'alert.sent', 'alert.resolved', 'alert.sent'])
  })

  test('runs that fail are one problem a flow, over both placements, from as many as it takes', async () => {
    const receiver = new Receiver()
    const rules = '  rules: { failedRuns: { atLeast: 2, withinMinutes: 5, flows: [parcelsV1, greetV1] } }\n'
    const edge = watch(ONCALL + rules, receiver)
    await failQueueRun()
    await failRunnerRun('otherV1')
    await failRunnerRun('otherV1')
    await failRunnerRun('greetV1')
    await edge.look()
    expect(receiver.told).toEqual([])
    await failRunnerRun('parcelsV1')
    await edge.look()
    expect(receiver.told).toEqual([['failedRuns parcelsV1 open']])
    expect(receiver.sent[0]!.problems[0]!.facts.runs).toBe(2)
  })

  test('a queue that has work and no worker is told after its grace, not before, and not when it has passed', async () => {
    const receiver = new Receiver()
    const edge = watch(`${ONCALL}  rules: { uncoveredQueues: { graceSeconds: 60 } }\n`, receiver)
    await flow.start({})
    await sql`update pgflow.workers set stopped_at = now()`
    await edge.look()
    await later(59_000)
    await edge.look()
    await sql`update pgflow.workers set stopped_at = null`
    await later(1000)
    await edge.look()
    await later(120_000)
    expect(receiver.told).toEqual([])
    await sql`update pgflow.workers set stopped_at = now()`
    await edge.look()
    await later(60_000)
    await edge.look()
    expect(receiver.told).toEqual([['uncoveredQueues parcelsv1__pack open']])
    const facts = { messages: 1, reason: 'no_live_worker', steps: ['parcelsV1.pack'] }
    expect(receiver.sent[0]!.problems[0]!.facts).toMatchObject(facts)
    await sql`update pgflow.workers set stopped_at = null`
    await later(ALERT_RESOLVE_AFTER_MS - 1000)
    await edge.look()
    expect(receiver.sent).toHaveLength(1)
    await later(61_000)
    await edge.look()
    expect(receiver.told[1]).toEqual(['uncoveredQueues parcelsv1__pack resolved'])
  })

  test('stalled tasks, lost runners, runs that nobody serves and a warm tier that is behind are told with counts', async () => {
    const receiver = new Receiver()
    const edge = watch(`${ONCALL}  rules: { unservedRuns: { graceSeconds: 0 } }\n`, receiver)
    const [stalled] = await flow.start({})
    await flow.claim('pack')
    await sql`insert into pgflow.task_attempts (run_id, step_slug, task_index, attempt, ended_at, reason)
              values (${stalled!}, 'pack', 0, 1, ${new Date(nowMs)}, 'stalled')`
    const [lost, queued] = [randomUUID(), randomUUID()]
    await clocked`select starflow.on_run_start(${lost}, 'greetV1', 'shop', 'prod', '{}')`
    await clocked`select starflow._append_event(${lost}, 'runner_lost', null, '{}')`
    await clocked`select * from starflow.enqueue_run(${queued}, 'greetV1', 'shop', 'prod', '{}', runner_pool => 'heavy')`
    await sql`select starflow.set_mirroring(true)`
    await sql`insert into starflow.mirror_outbox (kind, payload, created_at) values ('run', '{}', ${new Date(nowMs - 31_000)})`
    await edge.look()
    await sql`select starflow.set_mirroring(false)`
    const told = new Map(
      receiver.sent.flatMap(({ problems }) => problems).map((each) => [`${each.rule} ${each.subject}`, each]),
    )
    expect([...told.keys()].sort()).toEqual([
      ...['outboxLag warm tier', 'stalls greetV1', 'stalls parcelsV1', 'unservedRuns heavy'],
    ])
    expect(told.get('stalls parcelsV1')!.facts).toEqual({ stalledTasks: 1, lostRunners: 0, runIds: [stalled] })
    expect(told.get('stalls greetV1')!.facts).toEqual({ stalledTasks: 0, lostRunners: 1, runIds: [lost] })
    expect(told.get('unservedRuns heavy')!.facts).toEqual({ runs: 1, reason: 'no_runner', runIds: [queued] })
    expect(told.get('outboxLag warm tier')!.facts).toEqual({ changes: 1, oldestSeconds: 31 })
    expect(receiver.sent).toHaveLength(1)
    await sql`delete from starflow.mirror_outbox`
  })

  test('the first problem is told at once, and what comes soon after it together', async () => {
    const receiver = new Receiver()
    const edge = watch(`${ONCALL}  groupSeconds: 60\n`, receiver)
    for (const slug of ['aV1', 'bV1', 'cV1']) {
      await failRunnerRun(slug)
      await edge.look()
      await later(10_000)
    }
    expect(receiver.told).toEqual([['failedRuns aV1 open']])
    await later(40_000)
    await edge.look()
    expect(receiver.told[1]!.toSorted()).toEqual(['failedRuns bV1 open', 'failedRuns cV1 open'])
  })

  test('what came and went between two messages is told once, as over', async () => {
    const receiver = new Receiver()
    const rules = '  rules: { uncoveredQueues: { graceSeconds: 0 } }\n'
    const edge = watch(`${ONCALL}  groupSeconds: 600\n${rules}`, receiver)
    await failRunnerRun('aV1')
    await edge.look()
    await flow.start({})
    await sql`update pgflow.workers set stopped_at = now()`
    await edge.look()
    await sql`update pgflow.workers set stopped_at = null`
    await later(ALERT_RESOLVE_AFTER_MS)
    await edge.look()
    await later(600_000)
    await edge.look()
    expect(receiver.told).toEqual([['failedRuns aV1 open'], ['uncoveredQueues parcelsv1__pack resolved']])
  })

  test('a receiver is told of its own rules, and one that is signed with two secrets believes either', async () => {
    const receiver = new Receiver()
    const webhooks =
      '  webhooks: { oncall: { url: https://a.example.com, secrets: [ONCALL, ONCALL_OLD], rules: [stalls, failedRuns] }, other: { url: https://b.example.com, secrets: [ONCALL], rules: [outboxLag] } }\n'
    await failQueueRun()
    await watch(webhooks, receiver).look()
    const [{ headers, text }] = receiver.sent as [(typeof receiver.sent)[number]]
    expect(receiver.sent).toHaveLength(1)
    const { verify } = schemeOf({ scheme: 'standard-webhooks', secrets: ['X'] })
    for (const secret of Object.values(SECRETS)) {
      expect(() => verify({ headers, rawBody: Buffer.from(text) }, [secret], nowMs)).not.toThrow()
    }
  })

  test('nothing that runs were given, or that an error said, is told or logged', async () => {
    const receiver = new Receiver()
    const log: LogLine[] = []
    await failQueueRun()
    await failRunnerRun('greetV1')
    await watch(ONCALL, receiver, edges[0], log).look()
    expect(receiver.told.flat()).toHaveLength(2)
    for (const text of [...receiver.sent.map((each) => each.text), JSON.stringify(log)]) {
      for (const secret of [MARK, ...Object.values(SECRETS), 'alerts.example.com']) expect(text).not.toContain(secret)
    }
  })

  test('a message that is not taken is sent again, later each time and under the same id, until it is given up', async () => {
    const receiver = new Receiver()
    const log: LogLine[] = []
    const edge = watch(ONCALL, receiver, edges[0], log)
    receiver.answer = 'refused'
    await failQueueRun()
    await edge.look()
    await later(ALERT_RETRY_MS - 1)
    await edge.look()
    expect(receiver.sent).toHaveLength(1)
    await later(1)
    await edge.look()
    expect(receiver.sent).toHaveLength(2)
    await later(ALERT_RETRY_MS)
    await edge.look()
    expect(receiver.sent).toHaveLength(2)
    for (let time = 0; time < MAX_ALERT_ATTEMPTS; time++) {
      await later(900_000)
      await edge.look()
    }
    const own = receiver.sent.filter(({ id }) => id === receiver.sent[0]!.id)
    expect(own).toHaveLength(MAX_ALERT_ATTEMPTS)
    expect(new Set(own.map(({ text }) => text)).size).toBe(1)
    expect(log.find(({ message }) => message === 'alert.given_up')).toMatchObject({
      messageId: own[0]!.id,
      attempt: MAX_ALERT_ATTEMPTS,
    })
  })

  test('a message that an edge took and never sent is sent by another', async () => {
    const receiver = new Receiver()
    receiver.answer = 'never'
    await failQueueRun()
    void watch(ONCALL, receiver, edges[0]).look()
    await until(
      async () => (await sql`select from starflow.alert_messages where attempts = 1`).length,
      (taken) => taken === 1,
    )
    receiver.answer = 'taken'
    const other = watch(ONCALL, receiver, edges[1])
    await other.look()
    expect(receiver.sent).toHaveLength(0)
    await later(ALERT_LEASE_MS)
    await other.look()
    expect(receiver.told).toEqual([['failedRuns parcelsV1 open']])
  })
})

describe('on SQLite', async () => {
  const { env } = await testStorage('sqlite')
  const path = env.STARFLOW_SQLITE_PATH!
  let nowMs = START
  const adapter = await LocalWorkflowStateAdapter.open({ path, clock: () => nowMs })
  const store = new SqliteAlertStore(path, adapter, () => nowMs)
  afterAll(async () => {
    store.close()
    await adapter.close()
  })

  test('problems are opened, grouped, told and resolved as on Postgres', async () => {
    const receiver = new Receiver()
    const log = recorder([])
    const rules = `${ONCALL}  rules: { unservedRuns: { graceSeconds: 60 } }\n`
    const edge = new AlertWatch({
      ...{
        alerts: declared(rules),
        store,
        databaseId: 'a file',
        env: SECRETS,
        send: receiver.send,
        log,
        now: () => nowMs,
      },
    })
    const start = { templateId: 'greetV1', workspaceId: 'shop', env: 'prod', input: MARK, definitionId: null }
    const [runId, queued] = [randomUUID(), randomUUID()]
    await adapter.onRunStart(runId, start)
    await adapter.onRunError(runId, { name: 'Error', message: MARK })
    await adapter.enqueueRun({ ...start, runId: queued, runnerPool: 'heavy' })
    await edge.look()
    expect(receiver.told).toEqual([['failedRuns greetV1 open']])
    nowMs += 60_000
    await edge.look()
    expect(receiver.told[1]).toEqual(['unservedRuns heavy open'])
    expect(receiver.sent[1]!.problems[0]!.facts).toMatchObject({ runs: 1, runIds: [queued] })
    await adapter.cancelRun(queued, 'nobody wants it')
    nowMs += 15 * 60_000
    await edge.look()
    expect(receiver.told[2]!.toSorted()).toEqual(['failedRuns greetV1 resolved', 'unservedRuns heavy resolved'])
    await edge.look()
    expect(receiver.sent).toHaveLength(3)
    expect(JSON.stringify(receiver.sent)).not.toContain(MARK)
  })

  test('a message that is not taken is sent again under the same id', async () => {
    const receiver = new Receiver()
    receiver.answer = 'refused'
    const log = recorder([])
    const edge = new AlertWatch({
      ...{
        alerts: declared(ONCALL),
        store,
        databaseId: 'a file',
        env: SECRETS,
        send: receiver.send,
        log,
        now: () => nowMs,
      },
    })
    const runId = randomUUID()
    nowMs += 3_600_000
    await adapter.onRunStart(runId, {
      templateId: 'xV1',
      workspaceId: 'shop',
      env: 'prod',
      input: null,
      definitionId: null,
    })
    await adapter.onRunError(runId, { name: 'Error', message: MARK })
    await edge.look()
    await edge.look()
    nowMs += ALERT_RETRY_MS
    receiver.answer = 'taken'
    await edge.look()
    await edge.look()
    expect(receiver.sent.map(({ id }) => id)).toEqual([receiver.sent[0]!.id, receiver.sent[0]!.id])
  })
})

test('the file of docs/operations/alerts.md is one that a server takes, and its message is one that is sent', () => {
  const page = readFileSync(new URL('../../../docs/operations/alerts.md', import.meta.url), 'utf8')
  const { problems, declarations } = readDeclarations(/```yaml\n([\s\S]*?)```/.exec(page)![1]!)
  expect(problems).toEqual([])
  expect(Object.keys(declarations!.alerts!.webhooks)).toEqual(['oncall', 'chat'])
  const shown = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)![1]!) as AlertBody
  const [{ id, summary, status, ...problem }] = shown.data.problems as [ShownProblem]
  const taken = { messageId: id, webhook: 'oncall', createdAt: shown.timestamp, attempt: 1 }
  const { databaseId } = shown.data
  expect(alertBody({ ...taken, problems: [{ ...problem, problemId: id }] }, databaseId)).toEqual(shown)
})

describe('a server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'starflow-alerts-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const file = (text: string) => {
    const path = join(folder, `${randomUUID()}.yaml`)
    writeFileSync(path, text)
    return path
  }

  test('tells the webhook of its file, signed, that runs failed, and its log too', async () => {
    const requests: { headers: Headers; body: Buffer }[] = []
    const receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      requests.push({ headers: new Headers(request.headers as Record<string, string>), body: Buffer.concat(chunks) })
      response.end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    afterAll(() => void receiver.close())
    const { port } = receiver.address() as { port: number }
    const broken = new Flow({ slug: 'brokenV1', maxAttempts: 1 }).step({ slug: 'try' }, (): string => {
      throw new Error(MARK)
    })
    const storage = await testStorage('sqlite')
    const alerts = 'alerts: { webhooks: { oncall: { url: { variable: ONCALL_URL }, secrets: [ONCALL] } } }\n'
    const env = { ...SECRETS, ONCALL_URL: `http://127.0.0.1:${port}/hook`, STARFLOW_CONFIG_FILE: file(alerts) }
    // The run has failed before the server looks for the first time.
    const first = await testServer(storage, {}, { flows: [broken] })
    const { body } = await (await first.workspace('shop')).post('/api/runs', { flow: 'brokenV1' })
    await until(
      () => first.operator.with({ 'starflow-workspace': '*' }).get(`/api/runs/${body.runId}`),
      (answer) => answer.body.status === 'error',
    )
    await first.drain()
    const server = await testServer(storage, env, { flows: [broken] })
    await until(
      async () => requests.length,
      (count) => count > 0,
    )
    const [{ headers, body: rawBody }] = requests as [(typeof requests)[number]]
    schemeOf({ scheme: 'standard-webhooks', secrets: ['X'] }).verify({ headers, rawBody }, [SECRETS.ONCALL], Date.now())
    expect(JSON.parse(rawBody.toString())).toMatchObject({
      type: 'starflow.alert',
      data: {
        databaseId: server.identity.databaseId,
        problems: [{ rule: 'failedRuns', facts: { runIds: [body.runId] } }],
      },
    })
    await until(
      async () => server.log.map(({ message }) => message),
      (messages) => messages.includes('alert.opened') && messages.includes('alert.sent'),
    )
    expect(JSON.stringify(server.log)).not.toContain(MARK)
    expect(JSON.stringify(server.log)).not.toContain(SECRETS.ONCALL)
  })

  test('does not start with alerts that it could not send, and names no secret', async () => {
    const alerts =
      'alerts:\n  webhooks:\n    oncall: { url: { variable: NOWHERE }, secrets: [MISSING, SHORT] }\n    b c: { url: ftp://x, secrets: [lower] }\n'
    const wrong = file(alerts.replace(/ {4}b c.*\n/, ''))
    await expect(
      testServer(await testStorage('sqlite'), { STARFLOW_CONFIG_FILE: wrong, SHORT: 'whsec_x' }),
    ).rejects.toMatchObject({
      code: 'SF920',
      detail: [
        `${wrong}:3:15 alerts.webhooks.oncall.url: the environment variable NOWHERE holds no URL that begins with https:// or http://.`,
        `${wrong}:3:53 alerts.webhooks.oncall.secrets.0: the environment variable MISSING is not set.`,
        `${wrong}:3:62 alerts.webhooks.oncall.secrets.1: the secret in SHORT must have at least 16 characters.`,
      ].join('\n'),
    })
    const { problems } = readDeclarations(alerts)
    expect(problems.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('alerts.webhooks.b c: a name has letters'),
        expect.stringContaining('alerts.webhooks.b c.secrets.0: must be the name of an environment variable'),
      ]),
    )
  })
})
