import { join } from 'node:path'
import { expect, test } from 'vitest'
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
    expect(await log.next('functions.reloaded')).toMatchObject({ path: join(folder, file), isolates: 1 })
    expect(await (await call('a')).text()).toBe('new')
    expect(await log.next('function.exited')).toMatchObject({ reason: 'reload' })
    expect(log.of('function.log').map(({ line }) => line)).toEqual(['unload termination'])
  },
)

test('a change below a further watched folder ends the isolates too', async () => {
  const elsewhere = temporaryFolder({ 'src/module.ts': '' })
  const { call, log } = await startFunctions(
    { 'a/index.ts': FUNCTION, '_flows/word.ts': `export const word = 'old'` },
    { watch: [elsewhere], limits: { terminationGraceMs: 100 } },
  )
  await call('a')
  writeFile(join(elsewhere, 'src/module.ts'), 'export {}')
  expect(await log.next('functions.reloaded')).toMatchObject({ isolates: 1 })
})
