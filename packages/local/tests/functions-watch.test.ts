import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startFunctions } from './support/functions-host.ts'
import { temporaryFolder, writeFile } from './support/temporary-folder.ts'

const FUNCTION = `import { word } from '../_flows/word.ts'
addEventListener('beforeunload', (event) => console.log('unload ' + event.detail.reason))
Deno.serve(() => { EdgeRuntime.waitUntil(new Promise(() => {})); return new Response(word) })`

test.each(['functions/_flows/word.ts', 'functions/a/index.ts'])(
  'a change of %s ends the isolate, and the next request runs the new code',
  async (file) => {
    const { call, folder, log } = await startFunctions(
      { 'a/index.ts': FUNCTION, '_flows/word.ts': `export const word = 'old'` },
      { watch: true, limits: { terminationGraceMs: 100 } },
    )
    expect(await (await call('a')).text()).toBe('old')
    writeFile(
      join(folder, file),
      file.endsWith('word.ts') ? `export const word = 'new'` : FUNCTION.replace('Response(word)', `Response('new')`),
    )
    expect(await log.next('functions.reloaded')).toMatchObject({ path: join(folder, file), functions: ['a'] })
    expect(await (await call('a')).text()).toBe('new')
    expect(await log.next('function.exited')).toMatchObject({ reason: 'reload' })
    expect(log.of('function.log').map(({ line }) => line)).toEqual(['unload termination'])
  },
)

test('code that does not boot leaves the isolate as it was, until it is mended', async () => {
  const { call, folder, log } = await startFunctions(
    { 'a/index.ts': FUNCTION, '_flows/word.ts': `export const word = 'old'` },
    { watch: true, limits: { terminationGraceMs: 100 } },
  )
  await call('a')
  const { id } = log.of('function.listening')[0]!
  for (const mistake of ['export const word = = 1', `throw new Error('no word')`]) {
    const told = log.of('function.boot_failed').length
    writeFile(join(folder, 'functions/_flows/word.ts'), mistake)
    expect(await log.next('function.boot_failed', () => log.of('function.boot_failed').length > told)).toMatchObject({
      error: { code: 'SF511', fields: { file: 'functions/_flows/word.ts' } },
    })
    expect(await (await call('a')).text()).toBe('old')
  }
  expect(log.of('function.exited').filter((event) => event.id === id)).toEqual([])
  writeFile(join(folder, 'functions/_flows/word.ts'), `export const word = 'new'`)
  expect(await log.next('function.exited', (event) => event.id === id)).toMatchObject({ reason: 'reload' })
  expect(await (await call('a')).text()).toBe('new')
})

test('a mistake that is saved just before a function boots is told as a change first, and then as the reason', async () => {
  const { call, folder, log } = await startFunctions(
    { 'a/index.ts': FUNCTION, '_flows/word.ts': `export const word = 'old'` },
    { watch: true },
  )
  writeFile(join(folder, 'functions/_flows/word.ts'), 'export const word = = 1')
  const answer = await call('a')
  await answer.text()
  await log.next('function.boot_failed')
  const told = log.events.map(({ type }) => type).filter((type) => /reloaded|boot_failed/.test(type))
  expect(told).toEqual(['functions.reloaded', 'function.boot_failed'])
})

test('changed code whose isolate is killed while it boots is booted again, and then runs', async () => {
  const { call, folder, log } = await startFunctions(
    { 'a/index.ts': FUNCTION, '_flows/word.ts': `export const word = 'old'` },
    { watch: true, limits: { terminationGraceMs: 100 } },
  )
  await call('a')
  const { id } = log.of('function.booted')[0]!
  writeFile(join(folder, 'functions/_flows/word.ts'), `export const word = 'new'`)
  const killed = await log.next('function.booted', (event) => event.id !== id)
  process.kill(killed.pid, 'SIGKILL')
  expect(await log.next('function.exited', (event) => event.id === killed.id)).toBeDefined()
  expect(await (await call('a')).text()).toBe('new')
  expect(log.of('function.booted')).toHaveLength(3)
})

test('a change below a further watched folder ends the isolates too', async () => {
  const elsewhere = temporaryFolder({ 'src/word.ts': `export const word = 'old'` })
  const { call, log } = await startFunctions(
    { 'a/index.ts': FUNCTION.replace('../_flows', `file://${elsewhere}/src`) },
    { watch: [elsewhere], projectDir: dirname(elsewhere), limits: { terminationGraceMs: 100 } },
  )
  await call('a')
  writeFile(join(elsewhere, 'src/word.ts'), `export const word = 'new'`)
  expect(await log.next('functions.reloaded')).toMatchObject({ functions: ['a'] })
  expect(await (await call('a')).text()).toBe('new')
})

describe('only functions that are made of what has changed are ended', () => {
  const serve = (word: string) => `import { word } from '../_flows/${word}.ts'
Deno.serve(() => new Response(word))`
  const files = {
    'a/index.ts': serve('a'),
    'a/deno.json': '{}',
    'b/index.ts': serve('b'),
    '_flows/a.ts': `export { word } from './both.ts'`,
    '_flows/b.ts': `import { word as it } from './both.ts'\nexport const word = it\nawait import('./late.ts')`,
    '_flows/both.ts': `export const word = 'both'`,
    '_flows/late.ts': 'export {}',
    '_flows/alone.ts': '',
    '_flows/words.txt': 'some',
  }

  test.each([
    ['a module of one', { '_flows/a.ts': `export { word } from './both.ts' // edited` }, ['a']],
    ['a module of both', { '_flows/both.ts': `export const word = 'all'` }, ['a', 'b']],
    ['a module that is imported when it is needed', { '_flows/late.ts': 'export const late = 1' }, ['b']],
    ['a file beside the entry of one', { 'b/words.txt': 'few' }, ['b']],
    ['the deno.json of one', { 'a/deno.json': '{ "imports": {} }' }, ['a']],
    ['data that any of them may read', { '_flows/words.txt': 'more' }, ['a', 'b']],
    ['a module of nobody', { '_flows/alone.ts': 'export {}', '_flows/new.ts': 'export {}' }, []],
    ['modules of each, at once', { '_flows/a.ts': 'export {}', '_flows/late.ts': '' }, ['a', 'b']],
  ])('%s', async (_what, edits, concerned) => {
    const { call, folder, log } = await startFunctions(files, { watch: true, limits: { terminationGraceMs: 100 } })
    await Promise.all([call('a'), call('b')])
    for (const [path, text] of Object.entries(edits)) writeFile(join(folder, 'functions', path), text)
    expect(await log.next('functions.reloaded')).toMatchObject({ functions: concerned })
  })

  test('what an edit began to import concerns it from then on', async () => {
    const { call, folder, log } = await startFunctions(files, { watch: true, limits: { terminationGraceMs: 100 } })
    await Promise.all([call('a'), call('b')])
    const edit = async (path: string, text: string) => {
      const seen = log.of('functions.reloaded').length
      writeFile(join(folder, 'functions', path), text)
      return (await log.next('functions.reloaded', (event) => log.of('functions.reloaded').indexOf(event) === seen))
        .functions
    }
    expect(await edit('_flows/alone.ts', `export const word = 'alone'`)).toEqual([])
    expect(await edit('_flows/a.ts', `export { word } from './alone.ts'`)).toEqual(['a'])
    expect(await (await call('a')).text()).toBe('alone')
    expect(await edit('_flows/alone.ts', `export const word = 'anew'`)).toEqual(['a'])
    expect(await (await call('a')).text()).toBe('anew')
  })
})
