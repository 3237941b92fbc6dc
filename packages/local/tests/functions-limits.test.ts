import { expect, test, vi } from 'vitest'
import { isAlive } from '../../../tests/support/is-alive.ts'
import { startFunctions } from './support/functions-host.ts'

/** Says each `beforeunload` reason in its log, and answers `/<name>/wait` with a promise given to waitUntil. */
const TELLTALE = `addEventListener('beforeunload', (event) => console.log('unload ' + event.detail.reason))
let release = () => {}
Deno.serve((request) => {
  const path = new URL(request.url).pathname
  if (path.endsWith('/wait')) EdgeRuntime.waitUntil(new Promise((resolve) => { release = resolve }))
  if (path.endsWith('/release')) release()
  if (path.endsWith('/spin')) for (let i = 0; i < 1e12; i++);
  if (path.endsWith('/slow')) return new Promise((resolve) => setTimeout(() => resolve(new Response('slow')), 400))
  return new Response('ok')
})`

/** Uses CPU without blocking the isolate, so that its events are dispatched. */
const BUSY = `addEventListener('beforeunload', (event) => console.log('unload ' + event.detail.reason))
const spin = () => { const end = performance.now() + 40; while (performance.now() < end); setTimeout(spin, 1) }
Deno.serve(() => { EdgeRuntime.waitUntil(new Promise(() => {})); spin(); return new Response('ok') })`

const LONG = { wallClockMs: 60_000, cpuSoftMs: 30_000, cpuHardMs: 60_000 }

function unloads(log: Awaited<ReturnType<typeof startFunctions>>['log']): string[] {
  return log
    .of('function.log')
    .map(({ line }) => line)
    .filter((line) => line.startsWith('unload '))
}

test('wall clock: retired at half, told at 90 %, killed at the end while a promise is open', async () => {
  const { call, log } = await startFunctions({ 'a/index.ts': TELLTALE }, { limits: { ...LONG, wallClockMs: 8_000 } })
  await call('a/wait')
  expect(await log.next('function.retired')).toMatchObject({ reason: 'wall_clock' })
  expect(unloads(log)).toEqual([])
  const exited = await log.next('function.exited')
  expect(exited.reason).toBe('wall_clock')
  expect(exited.lifetimeMs).toBeGreaterThanOrEqual(7_950)
  expect(unloads(log)).toEqual(['unload wall_clock'])
})

test('a request after retirement reaches a fresh isolate while the old one finishes', async () => {
  const { call, host, log } = await startFunctions(
    { 'a/index.ts': TELLTALE },
    { limits: { ...LONG, wallClockMs: 12_000 } },
  )
  await call('a/wait')
  const [old] = host.isolates()
  await log.next('function.retired')
  await call('a')
  expect(host.isolates().map(({ id, isRetired }) => [id === old!.id, isRetired])).toEqual([
    [true, true],
    [false, false],
  ])
})

test('early drop: a retired isolate ends as soon as no promise and no request is left', async () => {
  const { call, log } = await startFunctions({ 'a/index.ts': TELLTALE }, { limits: { ...LONG, wallClockMs: 6_000 } })
  await call('a')
  const exited = await log.next('function.exited')
  expect(exited.reason).toBe('early_drop')
  expect(unloads(log)).toEqual(['unload early_drop'])
})

test('early drop waits for an open request and for promises that beforeunload starts', async () => {
  const { call, log } = await startFunctions(
    {
      'a/index.ts': `addEventListener('beforeunload', () => {
  EdgeRuntime.waitUntil(new Promise((resolve) => setTimeout(() => { console.log('cleaned up'); resolve() }, 100)))
})
Deno.serve(() => new Promise((resolve) => setTimeout(() => resolve(new Response('slow')), 3_500)))`,
    },
    { limits: { ...LONG, wallClockMs: 8_000 } },
  )
  expect(await (await call('a')).text()).toBe('slow')
  expect(await log.next('function.exited')).toMatchObject({ reason: 'early_drop' })
  expect(log.of('function.log').map(({ line }) => line)).toEqual(['cleaned up'])
})

test('CPU: retired at the soft limit, told at 90 % of the hard one, killed at it', async () => {
  const { call, log } = await startFunctions(
    { 'a/index.ts': BUSY },
    { limits: { ...LONG, cpuSoftMs: 300, cpuHardMs: 1_000 } },
  )
  await call('a')
  expect(await log.next('function.retired')).toMatchObject({ reason: 'cpu' })
  const exited = await log.next('function.exited')
  expect(exited.reason).toBe('cpu')
  expect(exited.cpuMs).toBeGreaterThanOrEqual(1_000)
  expect(unloads(log)).toEqual(['unload cpu'])
})

test('a caller whose isolate is killed for its CPU gets 546 WORKER_LIMIT, and the next one a fresh isolate', async () => {
  const { call, log } = await startFunctions(
    { 'a/index.ts': TELLTALE },
    { limits: { ...LONG, cpuSoftMs: 200, cpuHardMs: 400 } },
  )
  const answer = await call('a/spin')
  expect(answer.status).toBe(546)
  expect(await answer.json()).toMatchObject({ code: 'WORKER_LIMIT' })
  expect((await call('a')).status).toBe(200)
  expect(log.of('function.exited')).toMatchObject([{ reason: 'cpu', requests: 1 }])
})

test('an idle isolate uses no CPU that counts', async () => {
  const { call, host } = await startFunctions({ 'a/index.ts': TELLTALE }, { limits: LONG })
  for (let i = 0; i < 20; i++) await call('a')
  expect(host.isolates()[0]!.cpuMs).toBeLessThan(500)
})

test('memory: JavaScript heap above the limit ends the isolate, and the caller gets 546', async () => {
  const { call, log } = await startFunctions(
    {
      'a/index.ts': `Deno.serve(() => {
  const kept: unknown[] = []
  for (;;) kept.push(Array.from({ length: 1000 }, (_, i) => ({ i })))
})`,
    },
    { limits: { ...LONG, memoryMb: 64 } },
  )
  expect((await call('a')).status).toBe(546)
  expect(await log.next('function.exited')).toMatchObject({ reason: 'memory' })
})

test('memory: buffers outside the JavaScript heap count too, and beforeunload comes first', async () => {
  const { call, log } = await startFunctions(
    {
      'a/index.ts': `addEventListener('beforeunload', (event) => console.log('unload ' + event.detail.reason))
const kept: Uint8Array[] = []
Deno.serve(() => {
  EdgeRuntime.waitUntil(new Promise(() => {}))
  setInterval(() => kept.push(new Uint8Array(1 << 20).fill(1)), 20)
  return new Response('ok')
})`,
    },
    { limits: { ...LONG, memoryMb: 80 } },
  )
  await call('a')
  expect(await log.next('function.exited')).toMatchObject({ reason: 'memory' })
  expect(unloads(log)).toEqual(['unload memory'])
})

test('a handler that throws is a 500 and the isolate lives on; an uncaught error ends it with WORKER_ERROR', async () => {
  const { call, host, log } = await startFunctions({
    'a/index.ts': `Deno.serve((request) => {
  if (new URL(request.url).pathname.endsWith('/uncaught')) {
    setTimeout(() => { throw new Error('uncaught') })
    return new Promise(() => {})
  }
  throw new Error('in the handler')
})`,
  })
  expect((await call('a')).status).toBe(500)
  expect(host.isolates()).toHaveLength(1)
  const answer = await call('a/uncaught')
  expect([answer.status, await answer.json()]).toMatchObject([500, { code: 'WORKER_ERROR' }])
  expect(await log.next('function.exited')).toMatchObject({ reason: 'error' })
})

test('a function that does not answer in time gets its caller a 504', async () => {
  const { call, host } = await startFunctions(
    { 'a/index.ts': 'Deno.serve(() => new Promise(() => {}))' },
    { limits: { ...LONG, requestIdleMs: 200, terminationGraceMs: 100 } },
  )
  expect((await call('a')).status).toBe(504)
  await vi.waitUntil(() => host.isolates()[0]?.requestsInFlight === 0, { timeout: 60_000 })
})

test('killIsolate kills without beforeunload and the next request boots a fresh isolate', async () => {
  const { call, host, log } = await startFunctions({ 'a/index.ts': TELLTALE }, { limits: LONG })
  await call('a/wait')
  const [isolate] = host.isolates()
  expect(await host.killIsolate(isolate!.id)).toBe(true)
  expect(isAlive(isolate!.pid)).toBe(false)
  expect(await host.killIsolate(isolate!.id)).toBe(false)
  expect(log.of('function.exited')).toMatchObject([{ reason: 'killed', id: isolate!.id }])
  expect(unloads(log)).toEqual([])
  expect((await call('a')).status).toBe(200)
})

test('limits are checked: unknown, not positive, soft above hard', async () => {
  const files = { 'a/index.ts': TELLTALE }
  const refused = { code: 'SF001' }
  await expect(startFunctions(files, { limits: { wallClockMs: 0 } })).rejects.toMatchObject(refused)
  await expect(startFunctions(files, { limits: { cpuSoftMs: 3_000 } })).rejects.toMatchObject(refused)
  await expect(startFunctions(files, { limits: { wallClock: 1 } as object })).rejects.toMatchObject(refused)
})
