import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { isStarflowError } from '@starflow/errors'
import { expect, test } from 'vitest'
import { startFunctions } from './support/functions-host.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const HELLO = `Deno.serve((request) => new Response('hello ' + new URL(request.url).pathname + new URL(request.url).search))`

test('a function sees its own name first in the path, and the query', async () => {
  const { call } = await startFunctions({ 'hello/index.ts': HELLO })
  expect(await (await call('hello/a/b?c=d')).text()).toBe('hello /hello/a/b?c=d')
  expect(await (await call('hello')).text()).toBe('hello /hello')
})

test('body, method, headers and status pass through in both directions', async () => {
  const { call } = await startFunctions({
    'echo/index.ts': `Deno.serve(async (request) =>
      new Response(request.method + ' ' + request.headers.get('x-given') + ' ' + (await request.text()),
        { status: 201, headers: { 'x-answer': 'yes' } }))`,
  })
  const body = 'ü'.repeat(300_000)
  const answer = await call('echo', { method: 'PUT', headers: { 'x-given': '1' }, body })
  expect(answer.status).toBe(201)
  expect(answer.headers.get('x-answer')).toBe('yes')
  expect(await answer.text()).toBe(`PUT 1 ${body}`)
})

test('a default export with fetch is served', async () => {
  const { call } = await startFunctions({
    'hello/index.ts': `export default { fetch: () => new Response('exported') }`,
  })
  expect(await (await call('hello')).text()).toBe('exported')
})

test('two first requests at once boot one process', async () => {
  const { call, host, log } = await startFunctions({ 'hello/index.ts': HELLO })
  const answers = await Promise.all(Array.from({ length: 5 }, () => call('hello')))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(log.of('function.booted')).toHaveLength(1)
  expect(host.isolates()).toHaveLength(1)
})

test.each(['nope', '_flows', '..%2Fhello', 'hello.ts'])('an unknown function %s is answered with 404', async (name) => {
  const { call, log } = await startFunctions({ 'hello/index.ts': HELLO, '_flows/index.ts': HELLO })
  const answer = await call(name)
  expect(answer.status).toBe(404)
  expect(await answer.text()).toBe('Function not found')
  expect(log.events).toEqual([])
})

test('a function may read the packages that its deno.json takes from outside of the project, with what these need', async () => {
  const linked = temporaryFolder({
    'node_modules/greeting/package.json':
      '{ "name": "greeting", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
    'node_modules/greeting/index.js': `export const greeting = 'hello'`,
    'packages/greeter/index.ts': `import { greeting } from 'greeting'\nexport const greet = (name: string) => greeting + ' ' + name`,
    'other.txt': 'nobody asked',
  })
  const greeter = `../../../${basename(linked)}/packages/greeter/index.ts`
  const { call } = await startFunctions({
    'hello/index.ts': `import { greet } from 'greeter'\nDeno.serve(() => new Response(greet('Ada')))`,
    'hello/deno.json': JSON.stringify({ imports: { greeter } }),
    'other/index.ts': `Deno.serve(() => new Response(Deno.readTextFileSync('${linked}/other.txt')))`,
  })
  expect(await (await call('hello')).text()).toBe('hello Ada')
  expect(await (await call('other')).text()).not.toContain('nobody asked')
})

test('a library that refuses what it is given is not named, but the code of the functions that gave it', async () => {
  const { call, log, folder } = await startFunctions({
    'broken/index.ts': `import '../_flows/orders.ts'`,
    '_flows/orders.ts': `import { check } from '../../lib/check.js'\n\ncheck(1)\n`,
  })
  mkdirSync(join(folder, 'lib'))
  writeFileSync(join(folder, 'lib/check.js'), `export function check() {\n  throw new Error('refused')\n}\n`)
  await call('broken')
  const { error } = await log.next('function.boot_failed')
  expect(error.message).toContain('refused at functions/_flows/orders.ts:3:1')
})

test.each([
  ['does not parse', 'const a = 1\nconst b = = 2\n', 'functions/broken/index.ts:2:11'],
  ['imports a file that is not there', `import { a } from './a.ts'\nconsole.log(a)`, 'functions/broken/index.ts:1:19'],
  ['throws while it is loaded', `const a = 1\nthrow new Error('no luck')`, 'functions/broken/index.ts:2:7'],
])('a module that %s is a boot error that names file and line', async (_what, source, place) => {
  const { call, log, host } = await startFunctions({ 'broken/index.ts': source })
  const answer = await call('broken')
  expect(answer.status).toBe(503)
  expect(await answer.json()).toEqual({ code: 'BOOT_ERROR', message: 'Worker failed to boot (please check logs)' })
  const { error } = await log.next('function.boot_failed')
  expect(isStarflowError(error, 'SF511')).toBe(true)
  expect(error.message).toContain(place)
  expect(error.fields).toMatchObject({ functionName: 'broken', file: 'functions/broken/index.ts' })
  expect(await log.next('function.exited')).toMatchObject({ reason: 'boot_error' })
  expect(host.isolates()).toEqual([])
})

test('a boot error in an imported module names that module', async () => {
  const { call, log } = await startFunctions({
    'broken/index.ts': `import '../_flows/flow.ts'\n${HELLO}`,
    '_flows/flow.ts': 'export const a = 1\n\nexport const b = }\n',
  })
  expect((await call('broken')).status).toBe(503)
  expect((await log.next('function.boot_failed')).error.fields).toMatchObject({
    file: 'functions/_flows/flow.ts',
    line: 3,
  })
})

test('a function that never listens is a boot error after the boot timeout', async () => {
  const { call, log } = await startFunctions(
    { 'silent/index.ts': 'export const nothing = 1' },
    { limits: { bootTimeoutMs: 700 } },
  )
  expect((await call('silent')).status).toBe(503)
  expect((await log.next('function.boot_failed')).error.detail).toBe('It did not listen within 700 ms.')
})

test('a mended function boots with the next request', async () => {
  const { call, folder } = await startFunctions({ 'broken/index.ts': 'const = 1' })
  expect((await call('broken')).status).toBe(503)
  writeFileSync(join(folder, 'functions/broken/index.ts'), HELLO)
  expect((await call('broken')).status).toBe(200)
})

test("a function's own deno.json maps imports to sources and npm packages, offline and without warnings", async () => {
  const { call, log, folder } = await startFunctions({
    'mapped/index.ts': `import postgres from 'postgres'
import { answer } from '@scope/shared'
Deno.serve(() => new Response(typeof postgres + ' ' + answer))`,
    'mapped/deno.json': JSON.stringify({
      imports: { '@scope/shared': '../../packages/shared/index.ts', postgres: 'npm:postgres@3.4.9' },
    }),
    '../packages/shared/index.ts': `import 'postgres'\nexport const answer: number = 42`,
    '../package.json': JSON.stringify({ private: true, dependencies: { postgres: '3.4.9' } }),
    '../deno.json': JSON.stringify({ nodeModulesDir: 'manual' }),
  })
  const postgres = join(dirname(createRequire(import.meta.url).resolve('postgres')), '../..')
  cpSync(postgres, join(folder, 'node_modules/postgres'), { recursive: true })
  expect(await (await call('mapped')).text()).toBe('function 42')
  expect(log.of('function.log')).toEqual([])
})
