import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { loadProject } from './project.ts'

const parent = mkdtempSync(join(tmpdir(), 'starflow-project-'))
afterAll(() => rmSync(parent, { recursive: true }))

let count = 0
function folder(files: Readonly<Record<string, string>>): string {
  const root = join(parent, String(++count))
  mkdirSync(join(root, 'deep/down'), { recursive: true })
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text)
  return root
}

describe('loadProject', () => {
  test('finds the config above the current folder, and resolves its paths', async () => {
    const root = folder({ 'starflow.config.json': '{ "functionsDir": "edge" }' })
    expect(await loadProject(join(root, 'deep/down'))).toEqual({
      root,
      functionsDir: join(root, 'edge'),
      supabaseDir: join(root, 'supabase'),
      stateDir: join(root, '.starflow'),
    })
  })

  test('without a config the folder that has supabase/ is the project, with its functions there', async () => {
    const root = folder({ 'package.json': '{}' })
    mkdirSync(join(root, 'supabase'))
    const project = await loadProject(join(root, 'deep'))
    expect(project).toMatchObject({ root, functionsDir: join(root, 'supabase/functions') })
  })

  test('reads starflow.config.ts', async () => {
    const root = folder({ 'starflow.config.ts': "export default { stateDir: 'state' as const }" })
    expect((await loadProject(root)).stateDir).toBe(join(root, 'state'))
  })

  test.each([
    ['text that is no JSON', '{ functionsDir }', 'cannot be read'],
    ['a list', '["functions"]', 'is not valid'],
    ['an unknown setting', '{ "functionDir": "edge" }', 'is not valid'],
    ['a path that is no text', '{ "functionsDir": 1 }', 'is not valid'],
  ])('%s is refused with SF618 and the way out', async (_what, text, message) => {
    const loading = loadProject(folder({ 'starflow.config.json': text }))
    await expect(loading).rejects.toMatchObject({
      code: 'SF618',
      message: expect.stringContaining(message),
      hint: expect.stringContaining('functionsDir'),
    })
  })
})
