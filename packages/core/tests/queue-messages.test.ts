import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type MessageReport, StarflowSql } from '../src/index.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)

let queue: string
let workerId: string
beforeEach(async () => {
  queue = `mails_${randomUUID().slice(0, 8).replaceAll('-', '_')}`
  await sql`select pgmq.create(${queue})`
  workerId = await worker()
})

async function worker(): Promise<string> {
  const id = randomUUID()
  await core.registerWorker({ workerId: id, queueName: queue, functionName: `fn_${id}` })
  return id
}

const send = async (message: Json, headers: Json = null) =>
  (
    await sql<
      { id: string }[]
    >`select pgmq.send(${queue}, ${sql.json(message)}::jsonb, ${sql.json(headers)}::jsonb) as id`
  )[0]!.id
const work = (reports: readonly MessageReport[] = [], { qty = 10, by = workerId, visibilityTimeout = 60 } = {}) =>
  core.settleAndReadMessages({ workerId: by, queueName: queue, reports, qty, visibilityTimeout })
const reveal = () => sql`update pgmq.${sql(`q_${queue}`)} set vt = clock_timestamp()`
const rows = () =>
  sql<{ msg_id: string; read_ct: number; hidden: number }[]>`
    select msg_id, read_ct, round(extract(epoch from vt - clock_timestamp()))::int as hidden
    from pgmq.${sql(`q_${queue}`)} order by msg_id`
const letters = () => sql`
  select message_id, message, headers, read_count, error_name, error_message, error_stack, worker_id
  from pgflow.dead_letters where queue_name = ${queue} order by dead_letter_id`

describe('reading', () => {
  test('gives messages with their read count, and hides them for the visibility', async () => {
    const id = await send({ to: 'a' }, { trace: 1 })
    const { claimed, worker: state } = await work()
    expect(state).toBe('running')
    expect(claimed).toEqual([
      {
        messageId: id,
        attempt: 1,
        forgivenCount: 0,
        enqueuedAt: expect.stringMatching(/^\d{4}-/),
        message: { to: 'a' },
        headers: { trace: 1 },
      },
    ])
    expect(await rows()).toEqual([{ msg_id: id, read_ct: 1, hidden: 60 }])
  })

  test('gives nothing to a worker that is deprecated, fenced or unknown, and tells it', async () => {
    await send(1)
    expect(await work([], { by: randomUUID() })).toMatchObject({ worker: 'unknown', claimed: [] })
    await sql`update pgflow.worker_functions set enabled = false where function_name = ${`fn_${workerId}`}`
    expect(await work()).toMatchObject({ worker: 'fenced', claimed: [] })
    await core.deprecateWorker(workerId)
    expect(await work()).toMatchObject({ worker: 'deprecated', claimed: [] })
    expect(await rows()).toMatchObject([{ read_ct: 0 }])
  })

  test('is a sign of life once the last one is 3 s old', async () => {
    await sql`update pgflow.workers set last_heartbeat_at = now() - interval '1 hour' where worker_id = ${workerId}`
    await work()
    const [row] = await sql`select now() - last_heartbeat_at < interval '10 s' as fresh from pgflow.workers
      where worker_id = ${workerId}`
    expect(row).toEqual({ fresh: true })
  })
})

describe('a report', () => {
  const claim = async (message: Json = 1) => {
    await send(message)
    const [claimed] = (await work()).claimed
    return { messageId: claimed!.messageId, attempt: claimed!.attempt }
  }

  test('of a completed message archives it', async () => {
    const message = await claim()
    expect((await work([{ ...message, status: 'completed' }])).refused).toEqual([])
    expect(await rows()).toEqual([])
    expect(await sql`select msg_id from pgmq.${sql(`a_${queue}`)}`).toEqual([{ msg_id: message.messageId }])
  })

  test('of a message to retry makes it visible after the delay', async () => {
    const message = await claim()
    await work([{ ...message, status: 'retry', retryDelaySeconds: 300 }])
    expect(await rows()).toMatchObject([{ read_ct: 1, hidden: 300 }])
  })

  test('of a dead message moves it, with its error, out of the queue', async () => {
    const message = await claim({ a: 1 })
    await work([
      {
        ...message,
        status: 'dead',
        errorMessage: 'no such address\0',
        error: { name: 'MailError', stack: 'at send' },
      },
    ])
    expect(await rows()).toEqual([])
    expect(await letters()).toEqual([
      {
        message_id: message.messageId,
        message: { a: 1 },
        headers: null,
        read_count: 1,
        error_name: 'MailError',
        error_message: 'no such address\uFFFD',
        error_stack: 'at send',
        worker_id: workerId,
      },
    ])
  })

  test('of a message given back unstarted makes it visible at once and forgives the read, also when it is repeated', async () => {
    const message = await claim()
    await work([{ ...message, status: 'released' }], { qty: 0 })
    await work([{ ...message, status: 'released' }], { qty: 0 })
    expect((await work()).claimed).toMatchObject([{ attempt: 2, forgivenCount: 1 }])
  })

  test.each<MessageReport['status']>(['completed', 'retry', 'dead', 'released'])(
    'of a message that somebody else has read since is refused and changes nothing: %s',
    async (status) => {
      const message = await claim()
      await reveal()
      const other = await worker()
      await work([], { by: other })
      const before = await rows()
      const stale = { ...message, status, retryDelaySeconds: 0, errorMessage: 'x' } as MessageReport
      expect((await work([stale], { qty: 0 })).refused).toEqual([
        { messageId: message.messageId, reason: 'somebody else has read the message since' },
      ])
      expect(await rows()).toEqual(before)
      expect(await letters()).toEqual([])
    },
  )

  test('of a read that was lost is refused beside that of the read which counts', async () => {
    const lost = await claim()
    await reveal()
    const [current] = (await work()).claimed
    const { refused } = await work([
      { ...lost, status: 'completed' },
      { messageId: current!.messageId, attempt: current!.attempt, status: 'retry', retryDelaySeconds: 77 },
    ])
    expect(refused).toEqual([{ messageId: lost.messageId, reason: 'somebody else has read the message since' }])
    expect(await rows()).toMatchObject([{ read_ct: 2, hidden: 77 }])
  })

  test('of a message that has ended is refused', async () => {
    const message = await claim()
    await work([{ ...message, status: 'completed' }])
    expect((await work([{ ...message, status: 'completed' }])).refused).toEqual([
      { messageId: message.messageId, reason: 'the message is gone' },
    ])
  })

  test('in a batch settles its own message whatever the others are', async () => {
    for (const message of ['a', 'b', 'c', 'd']) await send(message)
    const [a, b, c, d] = (await work()).claimed
    await sql`select pgmq.delete(${queue}, ${b!.messageId}::bigint)`
    const { refused } = await work([
      { messageId: a!.messageId, attempt: 1, status: 'completed' },
      { messageId: b!.messageId, attempt: 1, status: 'completed' },
      { messageId: c!.messageId, attempt: 1, status: 'dead', errorMessage: 'x' },
      { messageId: d!.messageId, attempt: 1, status: 'retry', retryDelaySeconds: 9 },
    ])
    expect(refused).toEqual([{ messageId: b!.messageId, reason: 'the message is gone' }])
    expect(await rows()).toMatchObject([{ msg_id: d!.messageId, hidden: 9 }])
    expect(await letters()).toMatchObject([{ message_id: c!.messageId }])
  })

  test('is taken from a worker that is fenced or deprecated', async () => {
    const message = await claim()
    await core.deprecateWorker(workerId)
    await work([{ ...message, status: 'completed' }], { qty: 0 })
    expect(await rows()).toEqual([])
  })

  test('of an end leaves no forgiven read behind', async () => {
    const message = await claim()
    await work([{ ...message, status: 'released' }], { qty: 0 })
    const [again] = (await work()).claimed
    await work([{ messageId: again!.messageId, attempt: again!.attempt, status: 'completed' }])
    expect(await sql`select from pgflow.forgiven_reads where queue_name = ${queue}`).toHaveLength(0)
  })
})

describe('extending', () => {
  test('hides what is held for another while, and leaves out what is not', async () => {
    await send(1)
    await send(2)
    const [first, second] = (await work([], { visibilityTimeout: 2 })).claimed
    await sql`select pgmq.set_vt(${queue}, ${second!.messageId}::bigint, 0)`
    await work([], { by: await worker() })
    expect(await core.extendMessages(queue, [first!, second!], 90)).toEqual([first!.messageId])
    expect(await rows()).toMatchObject([{ hidden: 90 }, { hidden: 60 }])
    expect(await core.extendMessages(queue, [second!], 90)).toEqual([])
  })
})

describe('redrive', () => {
  const die = async (message: Json, headers: Json = null) => {
    await send(message, headers)
    const [claimed] = (await work()).claimed
    await work([{ messageId: claimed!.messageId, attempt: claimed!.attempt, status: 'dead', errorMessage: 'x' }])
    return claimed!.messageId
  }

  test('sends dead letters again in their order, with their headers, as new messages', async () => {
    await die('a', { h: 1 })
    await die('b')
    expect(await core.redriveDeadLetters(queue.toUpperCase())).toBe(2)
    expect(await letters()).toEqual([])
    expect((await work()).claimed).toMatchObject([
      { message: 'a', headers: { h: 1 }, attempt: 1 },
      { message: 'b', attempt: 1 },
    ])
    expect(await core.redriveDeadLetters(queue)).toBe(0)
  })

  test('sends only the messages it is told to', async () => {
    await die('a')
    const id = await die('b')
    expect(await core.redriveDeadLetters(queue, [id])).toBe(1)
    expect(await letters()).toMatchObject([{ message: 'a' }])
  })

  test('twice at once sends each letter once', async () => {
    for (let index = 0; index < 20; index++) await die(index)
    const sent = await Promise.all([core.redriveDeadLetters(queue), core.redriveDeadLetters(queue)])
    expect(sent[0]! + sent[1]!).toBe(20)
    expect(await rows()).toHaveLength(20)
  })
})

describe('the queue of a queue worker', () => {
  test('is named in lower case, whatever the case that it was made with', async () => {
    await sql`select pgmq.create('MyQueue')`
    expect(await core.findWorkerQueue('MYqueue')).toBe('myqueue')
  })

  test('must be there', async () => {
    await expect(core.findWorkerQueue('nobodys_queue')).rejects.toMatchObject({
      code: 'SF410',
      hint: "Create it in a migration: select pgmq.create('nobodys_queue');",
    })
  })

  test('must not be a flow’s', async () => {
    await core.ensureFlowCompiled({ flowSlug: 'Orders', shape: shape({ a: {} }), queueMode: 'step', routeMap: null })
    await expect(core.findWorkerQueue('orders__A')).rejects.toMatchObject({ code: 'SF411' })
  })
})
