import { randomUUID } from 'node:crypto'
import type { FlowShape, Json, JsonObject } from '@starflow/dsl'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { StarflowSql } from '../src/index.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { Actor } from './support/interleaving.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)
const superuser = database.as('supabase_admin', { connections: 1 })

let count = 0
const newSlug = () => `compile${++count}`
const three = shape({ load: {}, check: { after: ['load'] }, send: { after: ['check'], if: { check: { ok: true } } } })

const compile = (
  flowSlug: string,
  flowShape: FlowShape,
  options: {
    queueMode?: 'flow' | 'step'
    stepSlug?: string
    codeAgeMs?: number
    routeMap?: { stepSlug: string; queueName: string }[]
  } = {},
) => core.ensureFlowCompiled({ flowSlug, shape: flowShape, queueMode: 'step', routeMap: null, ...options })

/** Everything that a compile may write, so that "nothing changed" can be seen. */
const definition = async (flowSlug: string) => ({
  flows: await sql`select * from pgflow.flows where flow_slug = ${flowSlug}`,
  steps: await sql`select * from pgflow.steps where flow_slug = ${flowSlug} order by step_index`,
  deps: await sql`select * from pgflow.deps where flow_slug = ${flowSlug} order by dep_slug, step_slug`,
  queues: await queues(flowSlug),
})

const queues = async (flowSlug: string) => {
  const rows = await sql<{ queue_name: string }[]>`
    select queue_name from pgmq.list_queues() where queue_name like ${`${flowSlug.toLowerCase()}%`} order by 1`
  return rows.map((row) => row.queue_name)
}

const setLocal = async (value: 'on' | 'off') => {
  await core.setSetting('local', value)
}

beforeEach(() => setLocal('off'))

/** How often pgmq.create was called meanwhile, also where all was rolled back. It creates nothing then. */
async function countCreations(work: () => Promise<void>): Promise<number> {
  const [original] = await superuser<[{ definition: string }]>`
    select pg_get_functiondef('pgmq.create(text)'::regprocedure) as definition`
  await superuser.unsafe(`
    create sequence public.creations;
    grant usage on sequence public.creations to public;
    create or replace function pgmq.create(queue_name text) returns void language plpgsql as $$
    begin perform nextval('public.creations'); end $$`)
  try {
    await work()
    const [row] = await superuser<[{ count: number }]>`
      select case when is_called then last_value else 0 end::integer as count from public.creations`
    return row.count
  } finally {
    await superuser.unsafe(original.definition)
    await superuser`drop sequence public.creations`
  }
}

describe('a compile of a flow that is missing', () => {
  test('creates flow, steps, dependencies and one private queue per step', async () => {
    const slug = newSlug()
    const result = await compile(slug, three)
    expect(result).toEqual({
      status: 'compiled',
      mismatchKind: null,
      differences: [],
      options: [],
      routes: [
        { stepSlug: 'load', stepIndex: 0, queueName: `${slug}__load` },
        { stepSlug: 'check', stepIndex: 1, queueName: `${slug}__check` },
        { stepSlug: 'send', stepIndex: 2, queueName: `${slug}__send` },
      ],
    })
    expect(await queues(slug)).toEqual([`${slug}__check`, `${slug}__load`, `${slug}__send`])
    expect((await definition(slug)).deps).toHaveLength(2)
  })

  test('creates one default queue for a plain flow, also when it has no steps', async () => {
    const [slug, empty] = [newSlug(), newSlug()]
    await compile(slug, three, { queueMode: 'flow' })
    await compile(empty, shape({}), { queueMode: 'flow' })
    expect([await queues(slug), await queues(empty)]).toEqual([[slug], [empty]])
  })

  test('marks the steps that a map runs over', async () => {
    const slug = newSlug()
    await compile(slug, shape({ list: {}, other: {}, each: { map: true, after: ['list'] } }))
    const rows = await sql`select step_slug from pgflow.steps where flow_slug = ${slug} and feeds_map`
    expect(rows).toEqual([{ step_slug: 'list' }])
  })

  test('stores options, and the defaults of 3 attempts, 5 s and 60 s for what is left out', async () => {
    const [given, left] = [newSlug(), newSlug()]
    await compile(
      given,
      shape(
        { a: { maxAttempts: 2, baseDelay: 0, maxDelay: 9, timeout: 4, startDelay: 8 } },
        { maxAttempts: 7, baseDelay: 1, maxDelay: 30, timeout: 20 },
      ),
    )
    await compile(left, shape({ a: {} }))
    const columns = sql`opt_max_attempts, opt_base_delay, opt_max_delay, opt_timeout`
    expect(
      await sql`select ${columns} from pgflow.flows where flow_slug in ${sql([given, left])} order by flow_slug`,
    ).toEqual([
      { opt_max_attempts: 7, opt_base_delay: 1, opt_max_delay: 30, opt_timeout: 20 },
      { opt_max_attempts: 3, opt_base_delay: 5, opt_max_delay: null, opt_timeout: 60 },
    ])
    expect(
      await sql`select ${columns}, opt_start_delay from pgflow.steps where flow_slug in ${sql([given, left])} order by flow_slug`,
    ).toEqual([
      { opt_max_attempts: 2, opt_base_delay: 0, opt_max_delay: 9, opt_timeout: 4, opt_start_delay: 8 },
      { opt_max_attempts: null, opt_base_delay: null, opt_max_delay: null, opt_timeout: null, opt_start_delay: null },
    ])
  })

  test('is refused when a queue of it is listed already, in any spelling, and leaves nothing', async () => {
    const slug = newSlug()
    await sql`select pgmq.create(${`${slug}__CHECK`})`
    expect(await refusal(compile(slug, three))).toMatchObject({
      code: 'SF110',
      message: `Queue "${slug}__check" already exists and is not owned by flow "${slug}".`,
      detail: `pgmq lists it as "${slug}__CHECK".`,
    })
    expect(await definition(slug)).toMatchObject({ flows: [], steps: [], deps: [], queues: [`${slug}__CHECK`] })
  })

  test('is refused when a queue is listed whose tables are gone, with what takes the name off the list', async () => {
    const slug = newSlug()
    await sql`select pgmq.create(${`${slug}__check`})`
    await superuser`update pgmq.meta set queue_name = ${`${slug}__CHECK`} where queue_name = ${`${slug}__check`}`
    for (const table of [`q_${slug}__check`, `a_${slug}__check`]) {
      await superuser.unsafe(`alter extension pgmq drop table pgmq.${table}`)
      await superuser.unsafe(`drop table pgmq.${table}`)
    }
    const refused = await refusal(compile(slug, three))
    expect(refused).toMatchObject({ code: 'SF110', detail: `pgmq lists it as "${slug}__CHECK".` })
    await superuser.unsafe(refused.hint!.split(': ')[1]!)
    expect((await compile(slug, three)).status).toBe('compiled')
  })

  test('is refused by the last of its queues before the first is created', async () => {
    const slug = newSlug()
    await sql`select pgmq.create(${`${slug}__send`})`
    const creations = await countCreations(async () => {
      expect((await refusal(compile(slug, three))).code).toBe('SF110')
    })
    expect(creations).toBe(0)
  })

  test('is refused when another flow has its slug in another case', async () => {
    const slug = newSlug()
    await compile(slug, three)
    expect(await refusal(compile(slug.toUpperCase(), three))).toMatchObject({
      code: 'SF117',
      message: `Flow "${slug.toUpperCase()}" differs only in case from flow "${slug}".`,
    })
  })

  test('asks pgmq for every name first, and hands on its refusal', async () => {
    const slug = newSlug()
    const [before] = await superuser<[{ definition: string }]>`
      select pg_get_functiondef('pgmq.validate_queue_name(text)'::regprocedure) as definition`
    await superuser.unsafe(`
      create or replace function pgmq.validate_queue_name(queue_name text) returns void language plpgsql as $$
      begin
        if queue_name like '%__send' then
          raise exception 'queue name "%" is not liked today', queue_name using errcode = '22023', hint = 'Ask tomorrow.';
        end if;
      end $$`)
    try {
      const expected = {
        code: '22023',
        message: `queue name "${slug}__send" is not liked today`,
        hint: 'Ask tomorrow.',
      }
      // pgmq.create asks the same, but it is not called before all names are known to be good.
      const creations = await countCreations(async () => {
        expect(await refusal(compile(slug, three))).toMatchObject(expected)
      })
      expect(creations).toBe(0)
      expect(await definition(slug)).toEqual({ flows: [], steps: [], deps: [], queues: [] })
      expect(await compile(slug, three, { queueMode: 'flow' })).toMatchObject({ status: 'compiled' })
    } finally {
      await superuser.unsafe(before.definition)
    }
  })

  test.each(['compile', 'create_flow'])('is told by %s whose queue has a name that is too long', async (how) => {
    const slug = `${newSlug()}${'y'.repeat(48)}`
    const refused =
      how === 'compile' ? compile(slug, three, { queueMode: 'flow' }) : sql`select pgflow.create_flow(${slug})`
    expect(await refusal(refused)).toMatchObject({
      code: 'P0001',
      message: 'queue name is too long, maximum length is 47 characters',
      detail: `Flow "${slug}" would have the queue "${slug.toLowerCase()}", of ${slug.length} characters.`,
      hint: 'Choose another concrete flow slug, of at most 47 characters.',
    })
    expect(await sql`select from pgflow.flows where flow_slug = ${slug}`).toHaveLength(0)
  })

  test('leaves no flow, step or queue when pgmq fails half-way', async () => {
    const slug = newSlug()
    const [original] = await superuser<[{ definition: string }]>`
      select pg_get_functiondef('pgmq.create(text)'::regprocedure) as definition`
    await superuser.unsafe(`
      create or replace function pgmq.create(queue_name text) returns void language plpgsql as $$
      begin
        if queue_name like '%__send' then raise exception 'disk full'; end if;
        perform pgmq.create_non_partitioned(queue_name);
      end $$`)
    expect(await refusal(compile(slug, three))).toMatchObject({ message: 'disk full' })
    await superuser.unsafe(original.definition)
    expect(await definition(slug)).toMatchObject({ flows: [], steps: [], deps: [], queues: [] })
    expect((await compile(slug, three)).status).toBe('compiled')
  })

  test('of a step-queued flow is made once by 50 workers that start together', async () => {
    const slug = newSlug()
    const many = database.connect({ connections: 50 })
    const together = new StarflowSql(many)
    const results = await Promise.all(
      Array.from({ length: 50 }, () =>
        together.ensureFlowCompiled({ flowSlug: slug, shape: three, queueMode: 'step', routeMap: null }),
      ),
    )
    await many.end()
    const statuses = results.map((result) => result.status).sort()
    expect(statuses).toEqual(['compiled', ...Array.from({ length: 49 }, () => 'verified')])
    expect(new Set(results.map((result) => JSON.stringify(result.routes))).size).toBe(1)
  })
})

describe('bad input to a compile is refused before anything changes:', () => {
  test.each([
    ['a shape without steps', { steps: undefined }, 'SF118'],
    ['steps that are no list', { steps: 'load' }, 'SF118'],
    ['a step that is no object', { steps: ['load'] }, 'SF106'],
    ['a duplicate step', { steps: [{ slug: 'a' }, { slug: 'a' }] }, 'SF104'],
    ['a dependency that comes later', { steps: [{ slug: 'a', dependencies: ['b'] }, { slug: 'b' }] }, 'SF112'],
    ['a dependency on itself', { steps: [{ slug: 'a', dependencies: ['a'] }] }, 'SF112'],
    ['step queues without steps', { steps: [] }, 'SF103'],
  ])('%s', async (_, bad, code) => {
    const slug = newSlug()
    expect((await refusal(compile(slug, bad as unknown as FlowShape))).code).toBe(code)
    expect(await definition(slug)).toMatchObject({ flows: [], queues: [] })
  })

  test('a route map that is not the derived one is told with both', async () => {
    const slug = newSlug()
    const refused = await refusal(compile(slug, shape({ a: {} }), { routeMap: [{ stepSlug: 'a', queueName: 'mine' }] }))
    expect(refused).toMatchObject({ code: 'SF116' })
    expect(refused.detail).toContain(`${slug}__a`)
    expect(refused.detail).toContain('mine')
    expect((await definition(slug)).flows).toEqual([])
  })

  test('a route map in another order', async () => {
    const slug = newSlug()
    const routeMap = ['b', 'a'].map((step) => ({ stepSlug: step, queueName: `${slug}__${step}` }))
    expect((await refusal(compile(slug, shape({ a: {}, b: {} }), { routeMap }))).code).toBe('SF116')
  })

  test('a step that the flow does not have, with the ones it has', async () => {
    expect(await refusal(compile(newSlug(), three, { stepSlug: 'lod' }))).toMatchObject({
      code: 'SF107',
      detail: 'Steps: load, check, send.',
    })
  })

  test('a queue mode that does not exist', async () => {
    expect((await refusal(compile(newSlug(), three, { queueMode: 'both' as 'flow' }))).code).toBe('SF118')
  })

  test('a map with two dependencies', async () => {
    const slug = newSlug()
    const twice = shape({ a: {}, b: {}, each: { map: true, after: ['a', 'b'] } })
    expect(await refusal(compile(slug, twice))).toMatchObject({
      code: 'P0001',
      message: 'Map step "each" can have at most one dependency, but 2 were provided: a, b',
    })
    expect(await definition(slug)).toMatchObject({ flows: [], steps: [], queues: [] })
  })
})

describe('a compile of a flow that is there', () => {
  test('verifies it when nothing differs', async () => {
    const slug = newSlug()
    const { routes } = await compile(slug, three)
    expect(await compile(slug, three)).toEqual({
      status: 'verified',
      mismatchKind: null,
      differences: [],
      options: [],
      routes,
    })
  })

  test('takes a shape that leaves the modes out as skip and fail', async () => {
    const slug = newSlug()
    await compile(slug, shape({ a: {} }))
    const old = { steps: [{ slug: 'a', stepType: 'single', dependencies: [] }] } as unknown as FlowShape
    expect((await compile(slug, old)).status).toBe('verified')
  })

  test.each([
    [
      'a step more',
      {
        ...{ load: {}, check: { after: ['load'] }, send: { after: ['check'], if: { check: { ok: true } } } },
        more: {},
      },
      'shape',
      'Step "more" at index 3 is new in the code.',
    ],
    ['a step less', { load: {}, check: { after: ['load'] } }, 'shape', 'Step "send" at index 2 is not in the code.'],
    [
      'another type',
      { load: {}, check: { after: ['load'], map: true }, send: { after: ['check'], if: { check: { ok: true } } } },
      'shape',
      'Step "check": type single in the database, map in the code.',
    ],
    [
      'other dependencies',
      { load: {}, check: {}, send: { after: ['check'], if: { check: { ok: true } } } },
      'shape',
      'Step "check": depends on {load} in the database, {} in the code.',
    ],
    [
      'another condition',
      { load: {}, check: { after: ['load'] }, send: { after: ['check'], if: { check: { ok: false } } } },
      'shape',
      'Step "send": its if pattern differs.',
    ],
    [
      'a forbidden pattern',
      {
        load: {},
        check: { after: ['load'], ifNot: { load: 1 } },
        send: { after: ['check'], if: { check: { ok: true } } },
      },
      'shape',
      'Step "check": its ifNot pattern differs.',
    ],
    [
      'another whenUnmet',
      {
        load: {},
        check: { after: ['load'] },
        send: { after: ['check'], if: { check: { ok: true } }, whenUnmet: 'fail' },
      },
      'shape',
      'Step "send": whenUnmet is "skip" in the database, "fail" in the code.',
    ],
    [
      'another whenExhausted',
      {
        load: {},
        check: { after: ['load'], whenExhausted: 'skip' },
        send: { after: ['check'], if: { check: { ok: true } } },
      },
      'shape',
      'Step "check": whenExhausted is "fail" in the database, "skip" in the code.',
    ],
    [
      'steps in another order',
      { check: {}, load: {}, send: { after: ['check'], if: { check: { ok: true } } } },
      'shape',
      'Step "load": index 0 in the database, 1 in the code.',
    ],
  ] as const)('answers a mismatch for %s and changes nothing in production', async (_, steps, kind, difference) => {
    const slug = newSlug()
    await compile(slug, three)
    const before = await definition(slug)
    const result = await compile(slug, shape(steps))
    expect(result).toMatchObject({ status: 'mismatch', mismatchKind: kind })
    expect(result.differences).toContain(difference)
    expect(await definition(slug)).toEqual(before)
  })

  test('answers a routing mismatch when the queue mode differs, with the shape differences beside it', async () => {
    const slug = newSlug()
    await compile(slug, three, { queueMode: 'flow' })
    const result = await compile(slug, shape({ load: {}, check: { after: ['load'] } }))
    expect(result).toMatchObject({
      status: 'mismatch',
      mismatchKind: 'routing',
      differences: [
        'The queue mode is "flow" in the database and "step" in the code.',
        'Step "send" at index 2 is not in the code.',
      ],
    })
  })

  test('detects a route that was edited by hand, although shape and mode are equal', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await sql`update pgflow.steps set queue_name = ${`${slug}__1`} where flow_slug = ${slug} and step_slug = 'check'`
    expect(await compile(slug, three)).toMatchObject({
      status: 'mismatch',
      mismatchKind: 'routing',
      differences: [`Step "check": queue "${slug}__1" in the database, "${slug}__check" in the code.`],
    })
  })

  test.each([
    ['of another step', (slug: string) => `${slug}__load`],
    ['of another flow', () => `${newSlug()}__check`],
    ['of nothing that Starflow made', () => 'my_mails'],
    ['in another case', (slug: string) => `${slug}__CHECK`],
  ])('has no route that leads into a queue %s, not even by hand', async (_, queue) => {
    const slug = newSlug()
    await compile(slug, three)
    expect(
      await refusal(
        sql`update pgflow.steps set queue_name = ${queue(slug)} where flow_slug = ${slug} and step_slug = 'check'`,
      ),
    ).toMatchObject({ code: '23514', message: expect.stringContaining('queue_is_its_own') })
  })

  test('takes the route map of withStepQueues, with the index of each step', async () => {
    const slug = newSlug()
    const { routes } = await compile(slug, three)
    // In plain SQL, since the client leaves the index out.
    const verify = (map: unknown) => sql`
      select pgflow.ensure_flow_compiled(${slug}, ${JSON.stringify(three)}::text::jsonb, 'step', ${JSON.stringify(map)}::text::jsonb) ->> 'status' as status`
    expect(await verify(routes)).toEqual([{ status: 'verified' }])
    for (const wrong of [
      routes.map((route) => ({ ...route, stepIndex: route.stepIndex + 1 })),
      routes.slice(1),
      [...routes, routes[0]],
      routes.map(({ stepSlug }) => ({ stepSlug })),
      { routes },
    ]) {
      expect((await refusal(verify(wrong))).code).toBe('SF116')
    }
  })

  test('answers a routing mismatch for a renumbered step whose queue is named by its index', async () => {
    const slug = newSlug()
    const long = 'x'.repeat(60)
    await compile(slug, shape({ a: {}, [long]: {} }))
    expect(await compile(slug, shape({ [long]: {}, a: {} }))).toMatchObject({
      status: 'mismatch',
      mismatchKind: 'routing',
    })
  })

  test('names flow, step and queue of a route whose queue was dropped, and does not bring it back', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await sql`select pgmq.drop_queue(${`${slug}__check`})`
    expect(await refusal(compile(slug, three))).toMatchObject({
      code: 'SF111',
      message: `Queue "${slug}__check" of step "check" in flow "${slug}" does not exist.`,
      hint: expect.stringContaining('select pgflow.restore_queues(); select pgflow.repair_liveness();'),
    })
    expect(await queues(slug)).toEqual([`${slug}__load`, `${slug}__send`])
  })
})

describe('where the database is local, a different definition', () => {
  const other = shape({ load: {}, publish: { after: ['load'] } })

  test('replaces the old one with its runs and queues, and says what was deleted', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await core.startFlows(slug, [{}, {}])
    await setLocal('on')
    expect(await compile(slug, other)).toMatchObject({
      status: 'recompiled',
      options: ['2 runs of the old definition were deleted with their queues'],
      routes: [{ stepSlug: 'load' }, { stepSlug: 'publish' }],
    })
    expect(await queues(slug)).toEqual([`${slug}__load`, `${slug}__publish`])
    expect(await sql`select from pgflow.runs where flow_slug = ${slug}`).toHaveLength(0)
    expect((await compile(slug, other)).status).toBe('verified')
  })

  test('waits until the live workers of the flow have ended, and tells them to', async () => {
    const slug = newSlug()
    await compile(slug, three)
    const workerIds = await Promise.all(
      ['check', 'load', 'send'].map(async (step) => {
        const [workerId, queueName] = [randomUUID(), `${slug}__${step}`]
        await core.registerWorker({ workerId, queueName, functionName: queueName })
        return workerId
      }),
    )
    await setLocal('on')
    const before = await definition(slug)
    expect((await compile(slug, other)).status).toBe('draining')
    for (const workerId of workerIds) expect(await core.heartbeat(workerId)).toBe('deprecated')
    expect(await definition(slug)).toEqual(before)
    for (const workerId of workerIds) {
      expect((await compile(slug, other)).status).toBe('draining')
      await core.markWorkerStopped(workerId)
    }
    expect((await compile(slug, other)).status).toBe('recompiled')
  })

  test('waits for a released worker too, which names its queue in the case of its flow, also of a flow without steps', async () => {
    const slug = newSlug().toUpperCase()
    await compile(slug, shape({}), { queueMode: 'flow' })
    const workerId = randomUUID()
    await sql`insert into pgflow.workers (queue_name, worker_id, function_name) values (${slug}, ${workerId}, ${slug})`
    await setLocal('on')
    expect((await compile(slug, other, { queueMode: 'flow' })).status).toBe('draining')
    expect(await core.heartbeat(workerId)).toBe('deprecated')
    await core.markWorkerStopped(workerId)
    expect((await compile(slug, other, { queueMode: 'flow' })).status).toBe('recompiled')
  })

  test('does not wait for a worker that has gone silent', async () => {
    const slug = newSlug()
    await compile(slug, three)
    const workerId = randomUUID()
    await core.registerWorker({ workerId, queueName: `${slug}__load`, functionName: `${slug}__load` })
    await sql`update pgflow.workers set last_heartbeat_at = now() - interval '13 s' where worker_id = ${workerId}`
    await setLocal('on')
    expect((await compile(slug, other)).status).toBe('recompiled')
  })

  test('of code that was loaded before the last compile is a mismatch', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await setLocal('on')
    expect((await compile(slug, other, { codeAgeMs: 60_000 })).status).toBe('mismatch')
    expect((await compile(slug, other, { codeAgeMs: 0 })).status).toBe('recompiled')
    expect((await compile(slug, three, { codeAgeMs: 60_000 })).status).toBe('mismatch')
  })
})

describe('options', () => {
  test('that changed in the code are applied and reported', async () => {
    const slug = newSlug()
    await compile(slug, shape({ a: { timeout: 5 }, b: {} }, { maxAttempts: 3 }), { queueMode: 'flow' })
    const result = await compile(slug, shape({ a: { timeout: 7 }, b: { startDelay: 2 } }, { maxAttempts: 4 }), {
      queueMode: 'flow',
    })
    expect(result).toMatchObject({
      status: 'verified',
      options: [
        'flow: maxAttempts changed from 3 to 4',
        'step a: timeout changed from 5 to 7',
        'step b: startDelay changed from unset to 2',
      ],
    })
    expect(await sql`select opt_max_attempts from pgflow.flows where flow_slug = ${slug}`).toEqual([
      { opt_max_attempts: 4 },
    ])
    expect(
      await sql`select opt_timeout, opt_start_delay from pgflow.steps where flow_slug = ${slug} order by step_index`,
    ).toEqual([
      { opt_timeout: 7, opt_start_delay: null },
      { opt_timeout: null, opt_start_delay: 2 },
    ])
  })

  test('of other steps are left alone by a step worker', async () => {
    const slug = newSlug()
    await compile(slug, shape({ a: {}, b: {} }))
    const changed = shape({ a: { timeout: 7 }, b: { timeout: 8 } })
    expect((await compile(slug, changed, { stepSlug: 'a' })).options).toEqual([
      'step a: timeout changed from unset to 7',
    ])
    expect(await sql`select opt_timeout from pgflow.steps where flow_slug = ${slug} order by step_index`).toEqual([
      { opt_timeout: 7 },
      { opt_timeout: null },
    ])
  })

  test("of the flow reach a step worker's own step, and no other", async () => {
    const slug = newSlug()
    const stored = () => sql`select s.step_slug, s.opt_max_attempts, f.opt_max_attempts as of_flow from pgflow.steps s
      join pgflow.flows f using (flow_slug) where flow_slug = ${slug} order by step_index`
    await compile(slug, shape({ a: {}, b: {} }, { maxAttempts: 3 }))
    const options = (maxAttempts: number) =>
      compile(slug, shape({ a: {}, b: {} }, { maxAttempts }), { stepSlug: 'a' }).then((result) => result.options)
    expect(await options(1)).toEqual(['step a: maxAttempts changed from unset to 1'])
    expect(await options(1)).toEqual([])
    expect(await stored()).toEqual([
      { step_slug: 'a', opt_max_attempts: 1, of_flow: 3 },
      { step_slug: 'b', opt_max_attempts: null, of_flow: 3 },
    ])
    expect(await options(3)).toMatchObject([expect.stringMatching(/^step a: maxAttempts changed from 1 to unset/)])
  })

  test('that change back within an hour are reported as drift', async () => {
    const slug = newSlug()
    const withTimeout = (timeout: number) => compile(slug, shape({ a: { timeout } }), { stepSlug: 'a' })
    await withTimeout(5)
    expect((await withTimeout(7)).options).toEqual(['step a: timeout changed from 5 to 7'])
    expect((await withTimeout(5)).options[0]).toMatch(/^step a: timeout changed from 7 to 5 \(drift: /)
    await sql`update pgflow.option_changes set changed_at = now() - interval '61 minutes' where flow_slug = ${slug}`
    expect((await withTimeout(7)).options).toEqual(['step a: timeout changed from 5 to 7'])
  })

  test('are not applied by a mismatching compile', async () => {
    const slug = newSlug()
    await compile(slug, shape({ a: { timeout: 5 } }))
    await compile(slug, shape({ a: { timeout: 7 }, b: {} }))
    expect(await sql`select opt_timeout from pgflow.steps where flow_slug = ${slug}`).toEqual([{ opt_timeout: 5 }])
  })
})

describe('an input schema', () => {
  const withSchema = (inputSchema?: JsonObject): FlowShape => ({
    ...three,
    ...(inputSchema === undefined ? {} : { inputSchema }),
  })
  const stored = async (slug: string) =>
    (await sql<{ input_schema: Json }[]>`select input_schema from pgflow.flows where flow_slug = ${slug}`)[0]!
      .input_schema

  test('is stored, and another one is no other shape: it takes the place of the first', async () => {
    const slug = newSlug()
    await compile(slug, withSchema({ type: 'object', required: ['id'] }))
    expect(await stored(slug)).toEqual({ type: 'object', required: ['id'] })
    expect(await compile(slug, withSchema({ type: 'array' }), { stepSlug: 'check' })).toMatchObject({
      status: 'verified',
      differences: [],
      options: ['flow: the input schema changed'],
    })
    expect(await stored(slug)).toEqual({ type: 'array' })
    expect(await compile(slug, withSchema({ type: 'array' }))).toMatchObject({ status: 'verified', options: [] })
    await compile(slug, withSchema())
    expect(await stored(slug)).toBeNull()
  })

  test('of a mismatching compile is not stored', async () => {
    const slug = newSlug()
    await compile(slug, withSchema({ type: 'array' }))
    const other = { ...shape({ load: {} }), inputSchema: { type: 'object' } }
    expect(await compile(slug, other)).toMatchObject({ status: 'mismatch' })
    expect(await stored(slug)).toEqual({ type: 'array' })
  })
})

describe('create_flow', () => {
  test('makes a flow with 3 attempts, 5 s and 60 s, also for explicit nulls, and its queue', async () => {
    const slug = newSlug()
    const [flow] = await sql`select * from pgflow.create_flow(${slug}, null, null, null)`
    expect(flow).toMatchObject({
      flow_slug: slug,
      opt_max_attempts: 3,
      opt_base_delay: 5,
      opt_timeout: 60,
      queue_mode: 'flow',
    })
    expect(await queues(slug)).toEqual([slug])
  })

  test('gives an existing flow back as it is', async () => {
    const slug = newSlug()
    await sql`select pgflow.create_flow(${slug}, max_attempts => 7)`
    const [flow] = await sql`select * from pgflow.create_flow(${slug}, max_attempts => 9)`
    expect(flow).toMatchObject({ opt_max_attempts: 7 })
  })

  test('refuses a slug that breaks the contract by its constraint', async () => {
    expect((await refusal(sql`select pgflow.create_flow('1bad')`)).message).toContain('"slug_is_valid"')
  })

  test('refuses a slug that another flow has in another case', async () => {
    const slug = newSlug()
    await sql`select pgflow.create_flow(${slug})`
    expect((await refusal(sql`select pgflow.create_flow(${slug.toUpperCase()})`)).code).toBe('SF117')
  })
})

describe('add_step', () => {
  test('appends a step to a plain flow and gives it back unchanged the second time', async () => {
    const slug = newSlug()
    await sql`select pgflow.create_flow(${slug})`
    await sql`select pgflow.add_step(${slug}, 'a')`
    const [first] = await sql`select * from pgflow.add_step(${slug}, 'b', array['a'], timeout => 9)`
    const [again] = await sql`select * from pgflow.add_step(${slug}, 'b', timeout => 1)`
    expect(first).toMatchObject({ step_index: 1, deps_count: 1, opt_timeout: 9, queue_name: slug })
    expect(again).toEqual(first)
  })

  test('by many callers at once gives every step an index of its own', async () => {
    const slug = newSlug()
    await sql`select pgflow.create_flow(${slug})`
    const many = database.connect({ connections: 8 })
    await Promise.all(Array.from({ length: 24 }, (_, index) => many`select pgflow.add_step(${slug}, ${`s${index}`})`))
    await many.end()
    const rows = await sql<{ step_index: number }[]>`
      select step_index from pgflow.steps where flow_slug = ${slug} order by step_index`
    expect(rows.map((row) => row.step_index)).toEqual(Array.from({ length: 24 }, (_, index) => index))
  })

  test.each([
    ['an unknown flow', `select pgflow.add_step('nowhere', 'a')`, 'steps_flow_slug_fkey'],
    ['an unknown dependency', `select pgflow.add_step($flow, 'b', array['nothing'])`, 'deps_flow_slug_dep_slug_fkey'],
    ['a step that depends on itself', `select pgflow.add_step($flow, 'b', array['b'])`, 'deps_check'],
    ['a bad slug', `select pgflow.add_step($flow, 'b__c')`, 'steps_step_slug_check'],
    ['a type that does not exist', `select pgflow.add_step($flow, 'b', step_type => 'loop')`, 'steps_step_type_check'],
    ['a bad when_unmet', `select pgflow.add_step($flow, 'b', when_unmet => 'x')`, 'when_unmet_is_valid'],
    ['a bad when_exhausted', `select pgflow.add_step($flow, 'b', when_exhausted => 'x')`, 'when_exhausted_is_valid'],
    [
      'a negative start delay',
      `select pgflow.add_step($flow, 'b', start_delay => -1)`,
      'opt_start_delay_is_nonnegative',
    ],
    [
      'a required pattern that is no object',
      `select pgflow.add_step($flow, 'b', required_input_pattern => '[1]')`,
      'required_input_pattern_is_object',
    ],
    [
      'a forbidden pattern that is no object',
      `select pgflow.add_step($flow, 'b', forbidden_input_pattern => '1')`,
      'forbidden_input_pattern_is_object',
    ],
  ])('refuses %s by the constraint that callers know', async (_, statement, constraint) => {
    const slug = newSlug()
    await sql`select pgflow.create_flow(${slug})`
    expect((await refusal(sql.unsafe(statement.replace('$flow', `'${slug}'`)))).message).toContain(`"${constraint}"`)
  })

  test('refuses a step that another one differs from in case alone', async () => {
    const slug = newSlug()
    await sql`select pgflow.create_flow(${slug})`
    await sql`select pgflow.add_step(${slug}, 'sendMail')`
    expect(await refusal(sql`select pgflow.add_step(${slug}, 'sendmail')`)).toMatchObject({
      code: 'SF104',
      message: `Flow "${slug}" already has a step "sendMail", which differs from "sendmail" only in case.`,
    })
  })

  test('refuses a step-queued flow', async () => {
    const slug = newSlug()
    await compile(slug, three)
    expect((await refusal(sql`select pgflow.add_step(${slug}, 'more')`)).code).toBe('SF116')
  })

  test('refuses a map with two dependencies in the words that callers know', async () => {
    const slug = newSlug()
    await sql`select pgflow.create_flow(${slug})`
    await sql`select pgflow.add_step(${slug}, 'a'), pgflow.add_step(${slug}, 'b')`
    expect(await refusal(sql`select pgflow.add_step(${slug}, 'm', array['a', 'b'], step_type => 'map')`)).toMatchObject(
      {
        code: 'P0001',
        message: 'Map step "m" can have at most one dependency, but 2 were provided: a, b',
      },
    )
  })
})

describe('delete_flow_and_data', () => {
  test('deletes a flow with runs, attempts, options, queues and archives', async () => {
    const slug = newSlug()
    const flow = await CompiledFlow.compileShape(sql, slug, shape({ a: { timeout: 5 }, b: { after: ['a'] } }))
    await compile(slug, shape({ a: { timeout: 6 }, b: { after: ['a'] } }), { stepSlug: 'a' })
    const [runId] = await flow.start({}, {})
    await flow.drain((task) => (task.runId === runId ? new Error('boom') : null))
    await sql`select pgflow.delete_flow_and_data(${slug})`
    expect(await definition(slug)).toMatchObject({ flows: [], steps: [], deps: [], queues: [] })
    expect(await sql`select from pgflow.task_attempts where run_id = ${runId!}`).toHaveLength(0)
    expect(await sql`select to_regclass(${`pgmq.a_${slug}__a`}) as archive`).toEqual([{ archive: null }])
  })

  test('leaves every other flow alone', async () => {
    const [slug, other] = [newSlug(), newSlug()]
    await compile(slug, three)
    await compile(other, three)
    await core.startFlows(other, [{}])
    await sql`select pgflow.delete_flow_and_data(${slug})`
    expect((await compile(other, three)).status).toBe('verified')
    expect(await sql`select from pgflow.runs where flow_slug = ${other}`).toHaveLength(1)
  })

  test('succeeds when a queue was dropped by hand', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await sql`select pgmq.drop_queue(${`${slug}__check`})`
    await sql`select pgflow.delete_flow_and_data(${slug})`
    expect(await definition(slug)).toMatchObject({ flows: [], queues: [] })
  })

  test('drops the queues that its routes name, which may be others than the names derived now', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await sql`select pgmq.create(${`${slug}__1`})`
    await sql`update pgflow.steps set queue_name = ${`${slug}__1`} where flow_slug = ${slug} and step_slug = 'check'`
    await sql`select pgflow.delete_flow_and_data(${slug})`
    expect(await queues(slug)).toEqual([`${slug}__check`])
  })

  test('is refused where a queue is listed in two spellings, and goes on once the other one is off the list', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await core.startFlows(slug, [{}])
    await sql`select pgmq.create(${`${slug}__LOAD`})`
    const before = await definition(slug)
    const refused = await refusal(sql`select pgflow.delete_flow_and_data(${slug})`)
    expect(refused).toMatchObject({
      code: 'SF110',
      message: `Queue "${slug}__load" is listed under several spellings.`,
    })
    expect(await definition(slug)).toEqual(before)
    await superuser.unsafe(refused.hint!.slice(refused.hint!.indexOf('delete from')))
    expect(await sql.unsafe(`select from pgmq.q_${slug}__load`)).toHaveLength(1)
    await sql`select pgflow.delete_flow_and_data(${slug})`
    expect(await definition(slug)).toMatchObject({ flows: [], queues: [] })
  })

  test('changes nothing when pgmq cannot drop a queue', async () => {
    const slug = newSlug()
    await compile(slug, three)
    await core.startFlows(slug, [{}])
    const before = await definition(slug)
    const [original] = await superuser<[{ definition: string }]>`
      select pg_get_functiondef('pgmq.drop_queue(text)'::regprocedure) as definition`
    await superuser.unsafe(`
      create or replace function pgmq.drop_queue(queue_name text) returns boolean language plpgsql as $$
      begin
        if queue_name like '%__send' then raise exception 'cannot drop'; end if;
        execute format('alter extension pgmq drop table pgmq.%I', 'q_' || queue_name);
        execute format('drop table pgmq.%I', 'q_' || queue_name);
        return true;
      end $$`)
    expect(await refusal(sql`select pgflow.delete_flow_and_data(${slug})`)).toMatchObject({ message: 'cannot drop' })
    await superuser.unsafe(original.definition)
    expect(await definition(slug)).toEqual(before)
    expect(await sql`select from pgflow.runs where flow_slug = ${slug}`).toHaveLength(1)
  })

  test('of a flow that does not exist does nothing', async () => {
    await sql`select pgflow.delete_flow_and_data('nowhere')`
  })
})

describe('a definition that runs need', () => {
  const inUse = (slug: string, table: string) => ({
    code: 'SF121',
    message: `What is deleted from pgflow.${table} is needed by runs of flow "${slug}".`,
  })

  test('is not deleted from under them: neither flow nor step nor dependency, whatever became of the run', async () => {
    const [slug, lonely, empty] = [newSlug(), newSlug(), newSlug()]
    await compile(slug, three)
    await compile(lonely, shape({ a: {} }))
    await compile(empty, shape({}), { queueMode: 'flow' })
    const [runId] = await core.startFlows(slug, [{}])
    await core.startFlows(lonely, [{}])
    await core.startFlows(empty, [{}])
    for (const end of [sql`select`, sql`select pgflow.cancel_run(${runId!})`]) {
      await end
      expect(await refusal(sql`delete from pgflow.deps where flow_slug = ${slug}`)).toMatchObject(inUse(slug, 'deps'))
      expect(await refusal(sql`delete from pgflow.steps where flow_slug = ${lonely}`)).toMatchObject(
        inUse(lonely, 'steps'),
      )
      expect(await refusal(sql`delete from pgflow.flows where flow_slug = ${empty}`)).toMatchObject(
        inUse(empty, 'flows'),
      )
    }
    for (const table of ['flows', 'steps', 'deps']) {
      expect(await refusal(sql`truncate ${sql(`pgflow.${table}`)} cascade`)).toMatchObject({ code: 'SF121' })
    }
  })

  test('waits for a start that has read it, and is refused then', async () => {
    const slug = newSlug()
    await compile(slug, shape({ a: {} }))
    const starting = await new Actor(database).hold((starter) => starter.startFlows(slug, [{}]))
    const deleting = await new Actor(database).waits(
      (_, connection) => connection`delete from pgflow.steps where flow_slug = ${slug}`,
    )
    await starting.commit()
    expect(await refusal(deleting.end)).toMatchObject(inUse(slug, 'steps'))
  })

  test('goes by hand where no run has it', async () => {
    const slug = newSlug()
    await compile(slug, shape({ a: {} }), { queueMode: 'flow' })
    await core.startFlows(slug, [{}])
    await sql`select pgflow.add_step(${slug}, 'mistake', array['a'])`
    await sql`delete from pgflow.deps where flow_slug = ${slug} and step_slug = 'mistake'`
    await sql`delete from pgflow.steps where flow_slug = ${slug} and step_slug = 'mistake'`
    expect((await definition(slug)).steps).toHaveLength(1)
  })
})
