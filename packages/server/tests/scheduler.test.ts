import { describe, expect, test } from 'vitest'
import { FiringStarter } from '../src/triggers/firing-starter.ts'
import { type TestEdge, testEdge, WORKSPACE } from './support/test-edges.ts'
import type { Substrate } from './support/test-servers.ts'
import { testStorage } from './support/test-servers.ts'

describe.each<Substrate>(['sqlite', 'supabase'])('schedules on %s', async (substrate) => {
  const storage = await testStorage(substrate)
  if (storage.database) await storage.database.sql`select pgflow.set_setting('test_clock', 'on')`
  const [first, second] = await Promise.all([testEdge(storage), testEdge(storage)])
  const edges = [first!, second!]

  const at = (instant: string) => Promise.all(edges.map((edge) => edge.setClock(instant)))
  const trigger = (name: string, rest: string) =>
    `{ triggers: { ${name}: { flow: greetV1, input: { name: Ana, trigger: ${name} }, ${rest} } } }`
  /** Both look at the same time. */
  const look = (yaml: string) => Promise.all(edges.map((edge) => edge.scheduler(yaml).look()))
  /** The instants that a schedule has started a run for, oldest first: a run is known by its key. */
  const started = async (name: string) => {
    const { runs } = await first!.runs.list(
      { workspaceId: WORKSPACE },
      {
        ...{ flowSlug: 'greetV1', statuses: undefined, env: undefined, search: undefined, createdFrom: undefined },
        ...{ createdBefore: undefined, placement: undefined, cursor: undefined, limit: 500 },
      },
    )
    const details = await Promise.all(runs.map(({ runId }) => first!.runs.read({ workspaceId: WORKSPACE }, runId)))
    return details.filter(({ input }) => (input as { trigger?: string }).trigger === name).map(({ runId }) => runId)
  }
  const last = (name: string, edge: TestEdge = first!) => edge.store.lastFiring(WORKSPACE, name)

  test('an instant fires once, however many edges see it', async () => {
    const yaml = trigger('every10', "cron: '*/10 * * * *'")
    await at('2026-05-01T09:59:00Z')
    await look(yaml)
    expect(await started('every10')).toEqual([])
    for (const instant of ['10:00:00', '10:00:30', '10:10:01', '10:20:59']) {
      await at(`2026-05-01T${instant}Z`)
      await look(yaml)
    }
    expect(await started('every10')).toHaveLength(3)
    expect(await last('every10')).toMatchObject({ occurrence: '2026-05-01T10:20:00.000Z', status: 'started' })
  })

  test('a schedule that is new has nothing to catch up with', async () => {
    await at('2026-05-01T10:00:30Z')
    await look(trigger('fresh', "cron: '*/10 * * * *', catchUp: all"))
    expect(await started('fresh')).toEqual([])
  })

  test.each([
    ['none', 0, undefined],
    ['last', 1, '2026-05-01T11:50:00.000Z'],
    ['all', 4, '2026-05-01T11:50:00.000Z'],
  ] as const)('while no edge ran: catchUp %s starts %i runs, once', async (rule, count, occurrence) => {
    const yaml = trigger(`catch-${rule}`, `cron: '*/10 * * * *', catchUp: ${rule}, catchUpLimit: 4`)
    await at('2026-05-01T09:59:00Z')
    await look(yaml)
    await at('2026-05-01T11:55:00Z')
    await look(yaml)
    await look(yaml)
    expect(await started(`catch-${rule}`)).toHaveLength(count)
    expect((await last(`catch-${rule}`))?.occurrence).toBe(occurrence)
  })

  test('a clock that goes back fires nothing twice, and one that goes forward catches up', async () => {
    const yaml = trigger('jumps', "cron: '*/10 * * * *', catchUp: all")
    for (const instant of ['09:59:00', '10:00:00', '09:30:00', '10:00:10', '10:30:00']) {
      await at(`2026-05-01T${instant}Z`)
      await look(yaml)
    }
    expect(await started('jumps')).toHaveLength(4)
  })

  test('a night with two hours from two to three fires a time of day once, and every half hour in both', async () => {
    const daily = trigger('nightly', "cron: '30 2 * * *', timeZone: Europe/Berlin")
    const often = trigger('halfHourly', "cron: '*/30 2 * * *', timeZone: Europe/Berlin")
    await at('2026-10-24T23:30:00Z')
    await Promise.all([look(daily), look(often)])
    for (const instant of ['00:00', '00:30', '01:00', '01:30', '02:00']) {
      await at(`2026-10-25T${instant}:00Z`)
      await Promise.all([look(daily), look(often)])
    }
    expect(await started('nightly')).toHaveLength(1)
    expect(await started('halfHourly')).toHaveLength(4)
  })

  test('a night without the hour from two to three fires its time of day at the end of the gap', async () => {
    const yaml = trigger('spring', "cron: '30 2 * * *', timeZone: Europe/Berlin")
    for (const instant of ['00:30:00', '01:00:00', '01:30:00', '02:30:00']) {
      await at(`2026-03-29T${instant}Z`)
      await look(yaml)
    }
    expect(await started('spring')).toHaveLength(1)
    expect((await last('spring'))?.occurrence).toBe('2026-03-29T01:00:00.000Z')
  })

  test('overlap skip: nothing starts while the run before goes on, and the next one starts when it has ended', async () => {
    const yaml = trigger('single', "cron: '*/10 * * * *', overlap: skip")
    for (const instant of ['09:59:00', '10:00:00', '10:10:00']) {
      await at(`2026-05-01T${instant}Z`)
      await look(yaml)
    }
    const [runId] = await started('single')
    expect(await started('single')).toHaveLength(1)
    await first!.runs.cancel({ workspaceId: WORKSPACE }, runId!, 'by the test')
    await at('2026-05-01T10:20:00Z')
    await look(yaml)
    expect(await started('single')).toHaveLength(2)
  })

  test.each([
    ['between the firing and its run', async () => Promise.reject(new Error('the process is gone'))],
    [
      'between the run and the note of it',
      async (edge: TestEdge, start: Parameters<TestEdge['runs']['start']>[0]) => {
        await edge.runs.start(start)
        throw new Error('the process is gone')
      },
    ],
  ] as const)('an edge that dies %s: the run is started once, by another', async (when, dies) => {
    const name = when.includes('note') ? 'diesLate' : 'diesEarly'
    const yaml = trigger(name, "cron: '*/10 * * * *'")
    await at('2026-05-01T09:59:00Z')
    await look(yaml)
    await at('2026-05-01T10:00:00Z')
    const starter = new FiringStarter({
      store: first!.store,
      runs: { start: (start) => dies(first!, start) },
      log: { debug() {}, info() {}, warn() {}, error() {} },
    })
    await first!.scheduler(yaml, { starter }).look()
    expect(await last(name)).toMatchObject({ status: 'recorded', runId: null })
    await at('2026-05-01T10:00:09Z')
    await second!.scheduler(yaml).look()
    expect(await last(name)).toMatchObject({ status: 'recorded' })
    await at('2026-05-01T10:00:11Z')
    await look(yaml)
    const runs = await started(name)
    expect(runs).toHaveLength(1)
    expect(await last(name)).toMatchObject({ status: 'started', runId: runs[0] })
  })

  test('a start that is refused is kept with its code, and keeps no later instant from firing', async () => {
    const yaml = trigger('refused', "cron: '*/10 * * * *'")
    await at('2026-05-01T09:59:00Z')
    await look(yaml)
    await at('2026-05-01T10:00:00Z')
    const taken = { workspaceId: WORKSPACE, env: 'prod', pool: undefined, delayMs: 0, placement: undefined }
    await first!.runs.start({
      ...{ ...taken, flowSlug: 'brokenV1', input: {}, idempotencyKey: 'schedule/refused/2026-05-01T10:00:00.000Z' },
    })
    await look(yaml)
    expect(await last('refused')).toBeUndefined()
    await at('2026-05-01T10:10:00Z')
    await look(yaml)
    expect(await started('refused')).toHaveLength(1)
  })

  test('settled firings are forgotten after a week; nothing fires again for it', async () => {
    const yaml = trigger('weekly', "cron: '0 0 * * MON', catchUp: all")
    for (const instant of ['2026-05-03T23:59:00Z', '2026-05-04T00:00:00Z', '2026-05-11T12:00:00Z']) {
      await at(instant)
      await look(yaml)
    }
    expect((await last('weekly'))?.occurrence).toBe('2026-05-11T00:00:00.000Z')
    expect(await first!.store.pruneFirings(60_000)).toBe(0)
    expect(await started('weekly')).toHaveLength(2)
  })
})
