import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import { type Json, NonRetryableError, RetryLater } from '@starflow/dsl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { queueWorkerOn, type RunningFunction } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

const running: RunningFunction[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((worker) => worker.stop()))
})

let queue: string
beforeEach(async () => {
  queue = `Mails_${randomUUID().slice(0, 8)}`.replaceAll('-', '_')
  await sql`select pgmq.create(${queue})`
})

type Handler = Parameters<typeof queueWorkerOn>[1]
type Options = Partial<Parameters<typeof queueWorkerOn>[2]>

function workerOn(handler: Handler, options: Options = {}): RunningFunction {
  const worker = queueWorkerOn(url, handler, { queueName: queue, ...options })
  running.push(worker)
  return worker
}

const send = async (message: Json) =>
  (await sql<{ id: string }[]>`select pgmq.send(${queue}, ${sql.json(message)}::jsonb) as id`)[0]!.id
const queued = () => sql<{ msg_id: string; read_ct: number; hidden: number }[]>`
  select msg_id, read_ct, extract(epoch from vt - clock_timestamp())::float as hidden
  from pgmq.${sql(`q_${queue.toLowerCase()}`)} order by msg_id`
const archived = async () =>
  (await sql<{ message: Json }[]>`select message from pgmq.${sql(`a_${queue.toLowerCase()}`)} order by msg_id`).map(
    ({ message }) => message,
  )
const letters = () => sql`
  select message_id, message, read_count, error_name, error_message from pgflow.dead_letters
  where queue_name = ${queue.toLowerCase()} order by dead_letter_id`
const reveal = () => sql`update pgmq.${sql(`q_${queue.toLowerCase()}`)} set vt = clock_timestamp()`

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('a queue worker', () => {
  test('hands over each message once, with its context, and archives it; the queue’s case does not matter', async () => {
    const seen: unknown[] = []
    const worker = workerOn(
      (message, context) => {
        const { rawMessage, workerConfig } = context as { rawMessage: object; workerConfig: object }
        seen.push({ message, rawMessage, workerConfig })
      },
      { queueName: queue.toUpperCase(), visibilityTimeout: 7 },
    )
    expect(await worker.ask()).toMatchObject({ status: 'started' })
    const id = await send({ to: 'a' })
    await until(async () => (await archived()).length === 1)
    expect(seen).toEqual([
      {
        message: { to: 'a' },
        rawMessage: {
          msg_id: id,
          message: { to: 'a' },
          headers: null,
          read_ct: 1,
          enqueued_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        },
        workerConfig: expect.objectContaining({ visibilityTimeout: 7 }),
      },
    ])
    expect(await sql`select queue_name from pgflow.workers where queue_name = ${queue.toLowerCase()}`).toHaveLength(1)
  })

  test('never reads more messages than it has free slots', async () => {
    const begun: (() => void)[] = []
    const worker = workerOn(() => new Promise<void>((resolve) => begun.push(resolve)), { maxConcurrent: 2 })
    for (let index = 0; index < 5; index++) await send(index)
    await worker.ask()
    await until(async () => begun.length === 2)
    expect((await queued()).filter(({ read_ct }) => read_ct > 0)).toHaveLength(2)
    begun[0]!()
    await until(async () => (await archived()).length === 1)
    expect((await queued()).filter(({ read_ct }) => read_ct > 0)).toHaveLength(2)
  })

  test('beside another runs a handler that takes three times the visibility once', async () => {
    let runs = 0
    const handler = async () => {
      runs++
      await new Promise((resolve) => setTimeout(resolve, 6000))
    }
    const workers = [1, 2].map(() => workerOn(handler, { visibilityTimeout: 2 }))
    await Promise.all(workers.map((worker) => worker.ask()))
    await send('slow')
    await until(async () => (await archived()).length === 1)
    expect(runs).toBe(1)
    expect(await queued()).toEqual([])
  })

  test('tries a failed message again after its delay, which doubles', async () => {
    const worker = workerOn(
      () => {
        throw new Error('no answer')
      },
      { retry: { baseDelay: 100, maxDelay: 300 } },
    )
    await send(1)
    await worker.ask()
    const delays: number[] = []
    for (let attempt = 1; attempt <= 3; attempt++) {
      await until(async () => (await queued())[0]!.read_ct === attempt && (await queued())[0]!.hidden > 50)
      delays.push(Math.round((await queued())[0]!.hidden / 100) * 100)
      await reveal()
    }
    expect(delays).toEqual([100, 200, 300])
  })

  test('keeps a fixed delay, and lets the handler choose another', async () => {
    const worker = workerOn(
      (message) => {
        if (message === 'chosen') throw new RetryLater({ delaySeconds: 2000 })
        throw new Error('no answer')
      },
      { retry: { strategy: 'fixed', baseDelay: 500 } },
    )
    await send('ruled')
    await send('chosen')
    await worker.ask()
    await until(async () => (await queued()).every(({ hidden }) => hidden > 100))
    const delays = (await queued()).map(({ hidden }) => Math.round(hidden / 100) * 100)
    expect(delays).toEqual([500, 2000])
  })

  test('moves a message whose retries are used up to the dead letters, with its last error, and a redrive runs it again', async () => {
    let works = false
    const worker = workerOn(
      () => {
        if (!works) throw new TypeError('out of paper')
      },
      { retry: { limit: 1, baseDelay: 0 } },
    )
    const id = await send({ to: 'a' })
    await worker.ask()
    await until(async () => (await letters()).length === 1)
    expect(await letters()).toEqual([
      {
        message_id: id,
        message: { to: 'a' },
        read_count: 2,
        error_name: 'TypeError',
        error_message: 'out of paper',
      },
    ])
    expect(await queued()).toEqual([])
    works = true
    await core.redriveDeadLetters(queue)
    await until(async () => (await archived()).length === 1)
    expect(await letters()).toEqual([])
  })

  test('does not try a permanent error again', async () => {
    const worker = workerOn(() => {
      throw new NonRetryableError('no such address')
    })
    await send(1)
    await worker.ask()
    await until(async () => (await letters()).length === 1)
    expect(await letters()).toMatchObject([{ read_count: 1, error_message: 'no such address' }])
  })

  test('does not run a message again that has ended every worker which took it', async () => {
    let runs = 0
    await send('poison')
    for (let death = 0; death < 2; death++) {
      await sql`select pgmq.read(${queue}, 0, 1)`
    }
    await workerOn(() => void runs++, { retry: { limit: 1 } }).ask()
    await until(async () => (await letters()).length === 1)
    expect(await letters()).toMatchObject([
      { error_message: expect.stringContaining('The message was claimed 2 times and no worker said how it ended.') },
    ])
    expect(runs).toBe(0)
  })

  test('aborts the handler’s signal at its timeout and fails the attempt', async () => {
    const worker = workerOn(
      (_message, context) =>
        new Promise((_resolve, reject) => {
          const { signal } = context as { signal: AbortSignal }
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
      { timeout: 1, retry: { limit: 0 } },
    )
    await send(1)
    await worker.ask()
    await until(async () => (await letters()).length === 1)
    expect(await letters()).toMatchObject([
      { error_message: expect.stringContaining('The handler did not end within its timeout of 1 s.') },
    ])
  })

  /** A handler that ends with the reason of its signal, which the test gets too. */
  function waitingHandler() {
    let tell: (reason: unknown) => void
    const aborted = new Promise<unknown>((resolve) => {
      tell = resolve
    })
    const handler: Handler = (_message, context) =>
      new Promise((_resolve, reject) => {
        const { signal } = context as { signal: AbortSignal }
        signal.addEventListener('abort', () => {
          tell(signal.reason)
          reject(signal.reason)
        })
      })
    return { handler, aborted }
  }

  test('that has lost its message has its report refused, and its signal aborted', async () => {
    const { handler, aborted } = waitingHandler()
    const worker = workerOn(handler, { visibilityTimeout: 1, maxConcurrent: 1 })
    const id = await send(1)
    await worker.ask()
    await until(async () => (await queued())[0]!.read_ct === 1)
    // Somebody else reads it: as if an extension had come too late.
    await reveal()
    await sql`select pgmq.read(${queue}, 600, 1)`
    expect(await aborted).toMatchObject({ code: 'SF413' })
    expect(await worker.event('message.lost')).toMatchObject({ messageId: id, attempt: 1 })
    expect(await worker.event('report.refused')).toMatchObject({
      messageId: id,
      reason: 'somebody else has read the message since',
    })
    expect(await queued()).toMatchObject([{ read_ct: 2 }])
  })

  test('that reads a message again which it could not extend in time goes on with the new attempt only', async () => {
    const { handler, aborted } = waitingHandler()
    let runs = 0
    const worker = workerOn((message, context) => (++runs === 1 ? handler(message, context) : 'done'), {
      visibilityTimeout: 10,
      maxPollIntervalMs: 20,
    })
    await send(1)
    await worker.ask()
    await until(async () => (await queued())[0]!.read_ct === 1)
    await reveal()
    expect(await aborted).toMatchObject({ code: 'SF413' })
    await until(async () => (await archived()).length === 1)
    expect(runs).toBe(2)
    expect(await worker.event('report.refused')).toBeDefined()
  })

  test('gives back at once what its shutdown ended', async () => {
    const handler: Handler = (_message, context) => {
      const { shutdownSignal, rawMessage } = context as {
        shutdownSignal: AbortSignal
        rawMessage: { read_ct: number }
      }
      if (rawMessage.read_ct > 1) return undefined
      return new Promise((_resolve, reject) =>
        shutdownSignal.addEventListener('abort', () => reject(shutdownSignal.reason)),
      )
    }
    const first = workerOn(handler)
    await send(1)
    await first.ask()
    await until(async () => (await queued())[0]!.read_ct === 1)
    first.shutDown('wall_clock')
    await first.settled()
    expect((await queued())[0]!.hidden).toBeLessThanOrEqual(0)
    await workerOn(handler).ask()
    await until(async () => (await archived()).length === 1)
  })

  test('does not claim while its function is disabled', async () => {
    const functionName = `fenced_${queue.toLowerCase()}`
    await sql`insert into pgflow.worker_functions (function_name, enabled) values (${functionName}, false)`
    const worker = workerOn(() => {}, { functionName })
    await send(1)
    expect(await worker.ask()).toMatchObject({ status: 'fenced' })
    expect(await queued()).toMatchObject([{ read_ct: 0 }])
  })
})

describe('a queue worker that may not start', () => {
  test('says how to make a queue that is missing, and leaves no row of itself', async () => {
    const worker = workerOn(() => {}, { queueName: 'Nobodys', functionName: 'nobodys_worker' })
    expect(await worker.ask()).toMatchObject({
      http: 500,
      code: 'SF410',
      hint: "Create it in a migration: select pgmq.create('nobodys');",
    })
    expect(await sql`select from pgflow.workers where function_name = 'nobodys_worker'`).toHaveLength(0)
  })

  test('leaves the queue of a flow alone', async () => {
    await sql`select pgflow.create_flow('OwnedFlow')`
    await sql`select pgflow.add_step('OwnedFlow', 'a')`
    expect(await workerOn(() => {}, { queueName: 'ownedflow' }).ask()).toMatchObject({ http: 500, code: 'SF411' })
  })
})
