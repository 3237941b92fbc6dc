import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { isAlive } from '../../../tests/support/is-alive.ts'
import { startFunctions } from './support/functions-host.ts'
import { temporaryFolder, writeFile } from './support/temporary-folder.ts'

const WORKER = `let stop
addEventListener('beforeunload', (event) => { console.log('unload ' + event.detail.reason); setTimeout(stop, 50) })
Deno.serve(() => {
  EdgeRuntime.waitUntil(new Promise((resolve) => { stop = resolve }).then(() => console.log('drained')))
  return new Response('ok')
})`

test('stop tells each isolate, lets its promises settle, and leaves no process', async () => {
  const { call, host, log } = await startFunctions({ 'a/index.ts': WORKER, 'b/index.ts': WORKER })
  await Promise.all([call('a'), call('b')])
  const pids = host.isolates().map(({ pid }) => pid)
  await host.stop()
  expect(pids.map(isAlive)).toEqual([false, false])
  expect(log.of('function.log').map(({ line }) => line)).toEqual(
    expect.arrayContaining(['unload termination', 'drained', 'unload termination', 'drained']),
  )
  expect(log.of('function.exited')).toMatchObject([{ reason: 'termination' }, { reason: 'termination' }])
})

test('an isolate that has nothing to do is told once before it ends', async () => {
  const { call, host, log } = await startFunctions({
    'a/index.ts': `addEventListener('beforeunload', (event) => console.log('unload ' + event.detail.reason))
Deno.serve(() => new Response('ok'))`,
  })
  await call('a')
  await host.stop()
  expect(log.of('function.log').map(({ line }) => line)).toEqual(['unload termination'])
})

test('stop kills what does not end within the grace', async () => {
  const { call, host, log } = await startFunctions(
    { 'a/index.ts': 'Deno.serve(() => { EdgeRuntime.waitUntil(new Promise(() => {})); return new Response() })' },
    { limits: { terminationGraceMs: 200 } },
  )
  await call('a')
  const [isolate] = host.isolates()
  await host.stop()
  await host.stop()
  expect(isAlive(isolate!.pid)).toBe(false)
  expect(log.of('function.exited')).toMatchObject([{ reason: 'termination' }])
})

test('an isolate that boots while the host stops does not outlive it', async () => {
  const { call, host, log } = await startFunctions({ 'a/index.ts': WORKER })
  const answer = call('a')
  const { pid } = await log.next('function.booted')
  await host.stop()
  expect((await answer).status).toBe(503)
  expect(isAlive(pid)).toBe(false)
})

test.each([
  ['waits', 'EdgeRuntime.waitUntil(new Promise(() => {}))'],
  // It never reads that its host is gone: the system's CPU limit ends it.
  ['loops', 'for (;;);'],
])('a host that is killed leaves no Deno process, also where a function %s', async (_what, code) => {
  const folder = temporaryFolder({
    'functions/a/index.ts': `Deno.serve(() => { console.log('busy'); ${code}; return new Response() })`,
  })
  const source = (path: string) => pathToFileURL(join(import.meta.dirname, '../src', path)).href
  writeFile(
    join(folder, 'host.ts'),
    `import { FunctionsHost } from '${source('functions/functions-host.ts')}'
import { Gateway } from '${source('platform/gateway.ts')}'
const host = new FunctionsHost({
  functionsDir: '${folder}/functions',
  denoDir: '${join(tmpdir(), 'starflow-test-deno')}',
  limits: { cpuSoftMs: 1_000, cpuHardMs: 1_000, bootTimeoutMs: 5_000 },
  onEvent: (event) => { if (event.type === 'function.log') console.log(host.isolates()[0].pid) },
})
const gateway = new Gateway({ functions: () => host, health: () => ({}) })
gateway.start().then((api) => fetch('http://127.0.0.1:' + api + '/functions/v1/a'))`,
  )
  const host = spawn(process.execPath, [...COMPILED, join(folder, 'host.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void host.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: host.stdout }), 'line')
  const pid = Number(line)
  expect(isAlive(pid)).toBe(true)
  host.kill('SIGKILL')
  await vi.waitUntil(() => !isAlive(pid), { timeout: 60_000, interval: 20 })
})
