import type { Json } from '@starflow/dsl'
import type { FlowRun } from '../../src/index.ts'
import type { ClientCheck, Scene } from './client-check.ts'
import { expectEqual, rejectionOf } from './expect.ts'

const check = (title: string, run: (scene: Scene) => Promise<void>): ClientCheck => ({ title, run })

/** Every wait of a check ends by itself: it hangs no test. */
const SOON = { timeoutMs: 20_000 }

/** Settles when the channel of a run has been joined and read: then its `*` listeners hear of the step that is settled now. */
async function eventsUntilEnd(run: FlowRun): Promise<string[]> {
  const events: string[] = []
  for await (const event of run) events.push('stepSlug' in event ? `${event.stepSlug} ${event.status}` : event.type)
  return events
}

export const clientChecks: readonly ClientCheck[] = [
  check('a run is started, watched and completed, with its outputs and times', async (scene) => {
    const slug = await scene.flow({ a: {}, b: { after: ['a'] } })
    const run = await (await scene.person()).startFlow(slug, { n: 1 })
    expectEqual([run.flowSlug, run.status, run.input, run.output, run.error], [slug, 'started', { n: 1 }, null, null])
    expectEqual(
      run.steps.map((step) => [step.slug, step.status, step.output]),
      [
        ['a', 'started', null],
        ['b', 'created', null],
      ],
    )
    const end = run.waitForStatus('completed', SOON)
    await scene.backstage.work(slug, 'a', { output: { x: [1] } })
    expectEqual((await run.step('a').waitForStatus('completed', SOON)).output, { x: [1] })
    await scene.backstage.work(slug, 'b', { output: 2 })
    expectEqual((await end).output, { b: 2 })
    expectEqual([run.step('b').status, run.step('b').output], ['completed', 2])
    for (const time of [run.startedAt, run.completedAt, run.step('a').startedAt, run.step('b').completedAt]) {
      expectEqual(time instanceof Date && Math.abs(time.getTime() - Date.now()) < 600_000, true)
    }
    expectEqual(
      [run.failedAt, run.cancelledAt, run.step('a').failedAt, run.step('a').skipReason],
      [null, null, null, null],
    )
  }),
  check('events come in order, steps before those that depend on them, and end with the run', async (scene) => {
    const slug = await scene.flow({ a: {}, b: { after: ['a'] }, c: { after: ['b'], if: { b: 'never' } } })
    const run = await (await scene.person()).startFlow(slug, {})
    const events = eventsUntilEnd(run)
    await scene.backstage.work(slug, 'a', { output: 1 })
    await run.step('a').waitForStatus('completed', SOON)
    await scene.backstage.work(slug, 'b', { output: 2 })
    const heard = (await events).filter((event) => event !== 'b started')
    expectEqual(heard, ['a completed', 'b completed', 'c skipped', 'run:completed'])
    expectEqual([run.step('c').skipReason, run.output], ['condition_unmet', {}])
  }),
  check('JSON values keep their type', async (scene) => {
    const client = await scene.person()
    const slug = await scene.flow({ a: {} })
    const values: Json[] = ['123', 'null', '{"a":1}', '', 0, false, null, 1.5, [], {}, ['1', 1], { '1': '1' }]
    for (const value of values) {
      const run = await client.startFlow(slug, value)
      expectEqual(run.input, value)
      const end = run.waitForStatus('completed', SOON)
      await scene.backstage.work(slug, 'a', { output: value })
      await end
      expectEqual([run.output, run.step('a').output], [{ a: value }, value])
    }
  }),
  check('a run that ends before anybody listens is seen', async (scene) => {
    const client = await scene.person()
    const slug = await scene.flow({ a: {} })
    const run = await client.startFlow(slug, {})
    await scene.backstage.work(slug, 'a', { output: 1 })
    expectEqual(run.status, 'started')
    expectEqual(await eventsUntilEnd(run), ['a completed', 'run:completed'])
  }),
  check('a run that ends while the channel is joined is seen', async (scene) => {
    const client = await scene.person()
    const slug = await scene.flow({ a: {} })
    for (let round = 0; round < 5; round++) {
      const run = await client.startFlow(slug, round)
      const heard: unknown[] = []
      run.step('a').on('completed', ({ output }) => heard.push(output))
      const end = run.waitForStatus('completed', SOON)
      await scene.backstage.work(slug, 'a', { output: round })
      await end
      expectEqual([heard, run.output], [[round], { a: round }])
    }
  }),
  check('who waits for completed hears of a failure at once, with its error', async (scene) => {
    const slug = await scene.flow({ a: {}, b: { after: ['a'] } })
    const run = await (await scene.person()).startFlow(slug, {})
    const failure = rejectionOf(run.waitForStatus('completed', SOON))
    const ofStep = rejectionOf(run.step('b').waitForStatus('completed', SOON))
    await scene.backstage.work(slug, 'a', { error: 'the disk is full' })
    const { code, detail, fields } = await failure
    expectEqual(
      [code, detail, fields],
      ['SF221', 'the disk is full', { runId: run.runId, flowSlug: slug, stepSlug: 'a' }],
    )
    expectEqual((await ofStep).code, 'SF221')
    expectEqual([run.status, run.error?.code, run.step('a').error], ['failed', 'SF221', 'the disk is full'])
    await run.waitForStatus('failed')
    expectEqual((await rejectionOf(run.waitForStatus('completed'))).code, 'SF221')
    expectEqual(await eventsUntilEnd(run), ['run:failed'])
  }),
  check('an output that is too large for a broadcast is read', async (scene) => {
    const slug = await scene.flow({ a: {} })
    const run = await (await scene.person()).startFlow(slug, {})
    const end = run.waitForStatus('completed', SOON)
    const output = 'x'.repeat(300_000)
    await scene.backstage.work(slug, 'a', { output })
    await end
    expectEqual([(run.step('a').output as string).length, run.output], [300_000, { a: output }])
  }),
  check('a person sees their own runs only', async (scene) => {
    const [mine, other] = [await scene.person(), await scene.person()]
    const slug = await scene.flow({ a: {} })
    const [own, theirs] = [await mine.startFlow(slug, 'mine'), await other.startFlow(slug, 'theirs')]
    expectEqual((await mine.getRun(own.runId))?.input, 'mine')
    expectEqual([await mine.getRun(theirs.runId), await other.getRun(own.runId)], [null, null])
    expectEqual((await rejectionOf(mine.cancelRun(theirs.runId))).code, 'SF802')
    expectEqual((await rejectionOf(mine.retryRun(theirs.runId))).code, 'SF802')
    const heard: string[] = []
    own.on('*', (event) => heard.push(event.runId))
    const ends = [own.waitForStatus('completed', SOON), theirs.waitForStatus('completed', SOON)]
    expectEqual(await scene.backstage.work(slug, 'a', { output: 1 }), 2)
    await Promise.all(ends)
    expectEqual([...new Set(heard)], [own.runId])
  }),
  check('who is not signed in sees and starts nothing', async (scene) => {
    const slug = await scene.flow({ a: {} })
    const run = await scene.server().startFlow(slug, {})
    for (const attempt of [
      () => scene.anonymous().getRun(run.runId),
      () => scene.anonymous().startFlow(slug, {}),
      () => scene.anonymous().cancelRun(run.runId),
    ]) {
      const { code, hint } = await rejectionOf(attempt())
      expectEqual([code, String(hint).includes('grant_client_access')], ['SF226', true])
    }
  }),
  check('without Realtime it polls', async (scene) => {
    const slug = await scene.flow({ a: {} })
    const run = await scene.server({ realtime: false }).startFlow(slug, {})
    const events = eventsUntilEnd(run)
    await scene.backstage.work(slug, 'a', { output: 1 })
    expectEqual(await events, ['a completed', 'run:completed'])
  }),
  check('a run is cancelled, and goes on when it is retried', async (scene) => {
    const client = await scene.person()
    const slug = await scene.flow({ a: {}, b: { after: ['a'] } })
    const run = await client.startFlow(slug, {})
    const ended = rejectionOf(run.waitForStatus('completed', SOON))
    await client.cancelRun(run, { reason: 'not needed' })
    const { code, detail } = await ended
    expectEqual([code, detail, run.status, run.error?.code], ['SF222', 'not needed', 'cancelled', 'SF222'])
    const heard: string[] = []
    run.on('*', (event) => heard.push(event.type))
    await client.retryRun(run)
    expectEqual([run.status, run.error], ['started', null])
    const end = run.waitForStatus('completed', SOON)
    await scene.backstage.work(slug, 'a', { output: 1 })
    await run.step('b').waitForStatus('started', SOON)
    await scene.backstage.work(slug, 'b', { output: 2 })
    await end
    expectEqual([heard[0], heard.at(-1)], ['run:started', 'run:completed'])
  }),
  check('many runs are started in one request, and each can be watched', async (scene) => {
    const client = await scene.person()
    const slug = await scene.flow({ a: {} })
    const runs = await client.startFlows(slug, ['1', 1, null])
    expectEqual(
      runs.map((run) => run.input),
      ['1', 1, null],
    )
    const ends = runs.map((run) => run.step('a').waitForStatus('completed', SOON))
    await scene.backstage.work(slug, 'a', { output: 'done' })
    expectEqual(
      (await Promise.all(ends)).map((step) => step.output),
      ['done', 'done', 'done'],
    )
    await Promise.all(runs.map((run) => run.waitForStatus('completed', SOON)))
  }),
  check('a wait ends with its time, its signal, or the run that it is of, and the run goes on', async (scene) => {
    const slug = await scene.flow({ a: {} })
    const run = await (await scene.person()).startFlow(slug, {})
    const late = await rejectionOf(run.waitForStatus('completed', { timeoutMs: 20 }))
    expectEqual([late.code, late.detail], ['SF224', 'It is started.'])
    const controller = new AbortController()
    const aborted = rejectionOf(run.waitForStatus('completed', { signal: controller.signal }))
    controller.abort(new Error('left the page'))
    expectEqual((await aborted).message, 'left the page')
    const disposed = rejectionOf(run.step('a').waitForStatus('completed'))
    run.dispose()
    expectEqual((await disposed).code, 'SF225')
    await scene.backstage.work(slug, 'a', { output: 1 })
    expectEqual((await run.refresh()).status, 'completed')
  }),
  check('two handles of one run are watched on one connection', async (scene) => {
    const client = await scene.person()
    const slug = await scene.flow({ a: {} })
    const first = await client.startFlow(slug, {})
    const second = await client.getRun(first.runId)
    const ends = [first.waitForStatus('completed', SOON), second!.waitForStatus('completed', SOON)]
    await scene.backstage.work(slug, 'a', { output: 1 })
    await Promise.all(ends)
    expectEqual([first.output, second?.output], [{ a: 1 }, { a: 1 }])
  }),
  check('what cannot come is refused at once, and names it', async (scene) => {
    const client = await scene.person()
    const slug = await scene.flow({ a: { if: { x: 1 } } })
    const run = await client.startFlow(slug, {})
    await run.waitForStatus('completed', SOON)
    const skipped = await rejectionOf(run.step('a').waitForStatus('completed'))
    expectEqual([skipped.code, skipped.detail], ['SF223', 'condition_unmet'])
    expectEqual((await rejectionOf(run.waitForStatus('failed'))).code, 'SF223')
    expectEqual((await rejectionOf(client.startFlow('noSuchFlow', {}))).code, 'SF201')
    expectEqual(await client.getRun(crypto.randomUUID()), null)
    expectEqual((await rejectionOf(client.getRun(run.runId, 'another'))).code, 'SF202')
  }),
]
