import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startFunctions } from './support/functions-host.ts'

test('the environment holds what was given, the execution id and the wall clock, and nothing else', async () => {
  const { call, host } = await startFunctions(
    { 'env/index.ts': 'Deno.serve(() => Response.json(Deno.env.toObject()))' },
    { env: { SUPABASE_URL: 'http://here', GREETING: 'hello' }, limits: { wallClockMs: 123_456 } },
  )
  const env = await (await call('env')).json()
  expect(env).toEqual({
    SUPABASE_URL: 'http://here',
    GREETING: 'hello',
    SB_EXECUTION_ID: host.isolates()[0]!.id,
    STARFLOW_WALL_CLOCK_MS: '123456',
  })
})

test('an isolate can neither write, nor run programs, nor read outside the project', async () => {
  const { call, folder } = await startFunctions({
    'try/index.ts': `const outcome = async (act: () => unknown) => {
  try { await act(); return 'done' } catch (error) { return (error as Error).name }
}
Deno.serve(async (request) => Response.json({
  write: await outcome(() => Deno.writeTextFile(new URL('./written', import.meta.url), 'x')),
  run: await outcome(() => new Deno.Command('/bin/true').output()),
  readOutside: await outcome(() => Deno.readTextFile('/etc/hostname')),
  readInside: await outcome(() => Deno.readTextFile(new URL('./index.ts', import.meta.url))),
}))`,
    '../package.json': '{}',
  })
  expect(folder).not.toBe('')
  expect(await (await call('try')).json()).toEqual({
    write: 'NotCapable',
    run: 'NotCapable',
    readOutside: 'NotCapable',
    readInside: 'done',
  })
})

test('an isolate reads neither the state of the platform nor files of environment variables, although both are in its project', async () => {
  const files = [
    'kept/keys.json',
    '.starflow/dev/postgres/starflow-secrets.json',
    '.env',
    '.env.local',
    'data/list.json',
  ]
  const { call, folder } = await startFunctions(
    {
      'peek/index.ts': `import { readFileSync } from 'node:fs'
const outcome = (act: () => unknown) => {
  try { act(); return 'read' } catch (error) { return (error as Error).name }
}
Deno.serve(async (request) => {
  const paths = await request.json()
  return Response.json([
    paths.map((path: string) => outcome(() => Deno.readTextFileSync(path))),
    paths.map((path: string) => outcome(() => readFileSync(path))),
    outcome(() => [...Deno.readDirSync(new URL('../../.starflow', import.meta.url))]),
  ])
})`,
      '../package.json': '{}',
      ...Object.fromEntries(files.map((file) => [join('..', file), '{}'])),
    },
    (project) => ({ stateDir: join(project, 'kept') }),
  )
  const body = JSON.stringify(files.map((file) => join(folder, file)))
  const refused = ['NotCapable', 'NotCapable', 'NotCapable', 'NotCapable', 'read']
  const [deno, node, listed] = (await (await call('peek', { method: 'POST', body })).json()) as [
    string[],
    string[],
    string,
  ]
  expect(deno).toEqual(refused)
  expect(node.map((name) => name === 'read')).toEqual(refused.map((name) => name === 'read'))
  expect(listed).toBe('NotCapable')
})

test('exit, kill, signals and workers are as in the edge runtime', async () => {
  const { call } = await startFunctions({
    'globals/index.ts': `Deno.addSignalListener('SIGTERM', () => {})
Deno.kill(Deno.pid)
Deno.exit(3)
const promise = Promise.resolve(1)
Deno.serve(() => Response.json({
  args: Deno.args, worker: typeof Worker,
  returnsItsArgument: EdgeRuntime.waitUntil(promise) === promise, ignoresOthers: EdgeRuntime.waitUntil(7) === 7,
}))`,
  })
  expect(await (await call('globals')).json()).toEqual({
    args: [],
    worker: 'undefined',
    returnsItsArgument: true,
    ignoresOthers: true,
  })
})

test('what a function prints is a log event of its isolate, also around messages for the host', async () => {
  const { call, host, log } = await startFunctions({
    'talk/index.ts': `import process from 'node:process'
console.log('one')
process.stdout.write('no line end')
Deno.serve(() => { console.error('bad'); return new Response('') })`,
  })
  await call('talk')
  const { id } = host.isolates()[0]!
  await log.next('function.log', ({ line }) => line === 'bad')
  expect(log.of('function.log')).toEqual(
    expect.arrayContaining([
      { type: 'function.log', name: 'talk', id, level: 'info', line: 'one' },
      { type: 'function.log', name: 'talk', id, level: 'info', line: 'no line end' },
      { type: 'function.log', name: 'talk', id, level: 'error', line: 'bad' },
    ]),
  )
})
