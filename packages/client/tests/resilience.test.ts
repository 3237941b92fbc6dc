import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import WebSocket from 'ws'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { createStarflowClient, type Intervals } from '../src/index.ts'
import { Scene } from './checks/client-check.ts'
import { rejectionOf } from './checks/expect.ts'
import { clientPlatform } from './support/client-platform.ts'

const { facts, backstage } = await clientPlatform()
const proxy = await flakyProxy(facts.url)
const scenes: Scene[] = []
afterEach(async () => {
  await Promise.all(scenes.splice(0).map((scene) => scene.end()))
})
afterAll(() => proxy.close())

const newScene = (transport: unknown = WebSocket) => {
  const scene = new Scene(facts, transport)
  scenes.push(scene)
  return scene
}
const SOON = { timeoutMs: 25_000 }
/** Nothing is found by asking again: only by what is heard, and by reads that have a reason. */
const NO_POLLING: Partial<Intervals> = { pollMs: 600_000, maxPollMs: 600_000, refreshMs: 600_000 }
const setting = async (name: string, value: string | null) => {
  await backstage.sql(`select pgflow.set_setting('${name}', ${value === null ? 'null' : `'${value}'`})`)
}

describe('a run that is watched', () => {
  test('is found where it is after the connection was cut, without polling', async () => {
    const scene = newScene()
    const slug = await scene.flow({ a: {}, b: { after: ['a'] } })
    const token = await backstage.token(randomUUID(), 3600)
    const supabase = scene.supabase(async () => token, proxy.url)
    const run = await createStarflowClient(supabase, { intervals: NO_POLLING }).startFlow(slug, {})
    const heard: string[] = []
    run.on('*', ({ type }) => heard.push(type))
    const first = run.step('a').waitForStatus('completed', SOON)
    await backstage.work(slug, 'a', { output: 1 })
    await first

    const end = run.waitForStatus('completed', SOON)
    proxy.cut()
    await backstage.work(slug, 'b', { output: 2 })
    proxy.restore()
    await end
    expect([run.output, run.step('b').output]).toEqual([{ b: 2 }, 2])
    expect(heard.filter((type) => type === 'run:completed')).toHaveLength(1)
  })

  test('is heard again after the token ended and was refreshed, without polling', async () => {
    const scene = newScene()
    const slug = await scene.flow({ a: {}, b: { after: ['a'] } })
    const sub = randomUUID()
    const endsAt = Date.now() + 4_000
    const tokens = [await backstage.token(sub, 4), await backstage.token(sub, 3600)] as const
    const supabase = scene.supabase(async () => tokens[Date.now() < endsAt - 1_500 ? 0 : 1])
    const run = await createStarflowClient(supabase, {
      intervals: { ...NO_POLLING, rejoinMs: 100 },
    }).startFlow(slug, {})
    const first = run.step('a').waitForStatus('completed', SOON)
    await backstage.work(slug, 'a', { output: 1 })
    await first
    // The channel is closed when the token that it was joined with ends.
    await new Promise((resolve) => setTimeout(resolve, endsAt + 500 - Date.now()))
    const end = run.waitForStatus('completed', SOON)
    await backstage.work(slug, 'b', { output: 2 })
    expect((await end).output).toEqual({ b: 2 })
  })

  test('is polled where no web socket can be opened', async () => {
    const scene = newScene(
      class {
        constructor() {
          throw new Error('There are no web sockets here.')
        }
      },
    )
    const slug = await scene.flow({ a: {} })
    const run = await scene.server().startFlow(slug, {})
    const end = run.waitForStatus('completed', SOON)
    await backstage.work(slug, 'a', { output: 1 })
    expect((await end).output).toEqual({ a: 1 })
  })

  test('stays watched in the database, so that its events are sent', async () => {
    const scene = newScene()
    const slug = await scene.flow({ a: {} })
    const run = await scene.server({ intervals: { refreshMs: 50 } }).startFlow(slug, {})
    const watchedFor = async () => {
      const [row] = await backstage.sql(
        `select extract(epoch from watched_until - now())::float8 as left from pgflow.watched_runs where run_id = '${run.runId}'`,
      )
      return row?.left as number
    }
    const end = run.waitForStatus('completed', SOON)
    for (let time = 0; time < 2; time++) {
      await backstage.sql(
        `update pgflow.watched_runs set watched_until = now() + interval '1 minute' where run_id = '${run.runId}'`,
      )
      await vi.waitFor(async () => expect(await watchedFor()).toBeGreaterThan(280), { timeout: 60_000 })
    }
    await backstage.work(slug, 'a', { output: 1 })
    await end
  })

  test('is not watched any more once it is disposed of', async () => {
    const scene = newScene()
    const slug = await scene.flow({ a: {} })
    const supabase = scene.supabase()
    const run = await createStarflowClient(supabase, { intervals: { refreshMs: 20, pollMs: 20 } }).startFlow(slug, {})
    run.on('*', () => {})
    await vi.waitFor(() => expect(supabase.getChannels().map(({ state }) => state)).toEqual(['joined']), {
      timeout: 60_000,
    })
    run.dispose()
    await vi.waitFor(() => expect(supabase.getChannels()).toEqual([]), { timeout: 60_000 })
    await backstage.work(slug, 'a', { output: 1 })
    // A request that was under way may still be written; a handle that goes on writes again within 20 ms, time after time.
    await vi.waitFor(async () => {
      await backstage.sql(`delete from pgflow.watched_runs where run_id = '${run.runId}'`)
      await new Promise((resolve) => setTimeout(resolve, 200))
      expect(await backstage.sql(`select from pgflow.watched_runs where run_id = '${run.runId}'`)).toHaveLength(0)
    }, 5000)
    expect(run.status).toBe('started')
  })

  test('leaves its channel by itself when it has ended', async () => {
    const scene = newScene()
    const slug = await scene.flow({ a: {} })
    const supabase = scene.supabase()
    const run = await createStarflowClient(supabase).startFlow(slug, {})
    const end = run.waitForStatus('completed', SOON)
    await vi.waitFor(() => expect(supabase.getChannels().map(({ state }) => state)).toEqual(['joined']), {
      timeout: 60_000,
    })
    await backstage.work(slug, 'a', { output: 1 })
    await end
    await vi.waitFor(() => expect(supabase.getChannels()).toEqual([]), { timeout: 60_000 })
  })

  test('rejects whoever waits when it cannot be seen any more', async () => {
    const scene = newScene()
    const slug = await scene.flow({ a: {} })
    const token = await backstage.token(randomUUID(), 3600)
    const client = createStarflowClient(
      scene.supabase(async () => token),
      { realtime: false, intervals: { pollMs: 50 } },
    )
    const run = await client.startFlow(slug, {})
    const waiting = rejectionOf(run.waitForStatus('completed'))
    const iterating = rejectionOf(
      (async () => {
        for await (const _event of run);
      })(),
    )
    await backstage.sql(`update pgflow.runs set owner = null where run_id = '${run.runId}'`)
    expect((await waiting).code).toBe('SF802')
    expect((await iterating).code).toBe('SF802')
  })
})

describe('the database says how events are sent:', () => {
  test('over public channels', async () => {
    await setting('events_channel', 'public')
    try {
      const scene = newScene()
      const slug = await scene.flow({ a: {}, b: { after: ['a'] } })
      const token = await backstage.token(randomUUID(), 3600)
      const supabase = scene.supabase(async () => token)
      const run = await createStarflowClient(supabase, { intervals: NO_POLLING }).startFlow(slug, {})
      const end = run.waitForStatus('completed', SOON)
      await vi.waitFor(() => expect(supabase.getChannels().map(({ state }) => state)).toEqual(['joined']), {
        timeout: 60_000,
      })
      await backstage.work(slug, 'a', { output: 1 })
      await run.step('b').waitForStatus('started', SOON)
      await backstage.work(slug, 'b', { output: 2 })
      expect((await end).output).toEqual({ b: 2 })
    } finally {
      await setting('events_channel', null)
    }
  })

  test('not at all, so that no channel is joined and the run is polled', async () => {
    await setting('events', 'off')
    try {
      const scene = newScene()
      const slug = await scene.flow({ a: {} })
      const supabase = scene.supabase()
      const run = await createStarflowClient(supabase, { intervals: { pollMs: 50 } }).startFlow(slug, {})
      const end = run.waitForStatus('completed', SOON)
      await backstage.work(slug, 'a', { output: 1 })
      await end
      expect(supabase.getChannels()).toEqual([])
    } finally {
      await setting('events', null)
    }
  })
})

describe('a start', () => {
  test('that is repeated with its run id or key gives the run that there is', async () => {
    const client = newScene().server()
    const slug = await newScene().flow({ a: {} })
    const runId = randomUUID()
    const first = await client.startFlow(slug, 1, { runId })
    expect(first.runId).toBe(runId)
    expect((await client.startFlow(slug, 2, { runId })).input).toBe(1)
    const keyed = await client.startFlow(slug, 3, { idempotencyKey: 'order 7' })
    expect((await client.startFlow(slug, 4, { idempotencyKey: 'order 7' })).runId).toBe(keyed.runId)
  })

  test('may lie in the future', async () => {
    const slug = await newScene().flow({ a: {} })
    await newScene()
      .server()
      .startFlow(slug, {}, { startAt: new Date(Date.now() + 3_600_000) })
    expect(await backstage.work(slug, 'a', { output: 1 })).toBe(0)
  })

  test('with an input that does not fit its schema is refused before anything is sent', async () => {
    const slug = await newScene().flow({ a: {} })
    const client = newScene().server({
      inputSchemas: {
        [slug]: {
          '~standard': {
            version: 1,
            vendor: 'test',
            validate: (value: unknown) =>
              typeof value === 'string' ? { value } : { issues: [{ message: 'expected a text', path: ['a', 0] }] },
          },
        },
      },
    })
    expect(await rejectionOf(client.startFlows(slug, ['fine', 7]))).toMatchObject({
      code: 'SF203',
      detail: '$.a.0: expected a text',
    })
    expect(await backstage.sql(`select from pgflow.runs where flow_slug = '${slug}'`)).toHaveLength(0)
    expect((await client.startFlow(slug, 'fine')).input).toBe('fine')
  })
})
