import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findPostgres } from '@starflow/local'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { platformMigrations } from '../src/platform/platform-migrations.ts'
import { startStarflowPlatform } from '../src/platform/start-starflow-platform.ts'
import { CTRL, PseudoTerminal } from './support/pseudo-terminal.ts'
import { SampleProject } from './support/sample-project.ts'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const ASKING = fileURLToPath(new URL('./support/question-process.ts', import.meta.url))
const FLOW = `
import { Flow } from '@starflow/dsl'
export const greet = new Flow<{ name: string }>({ slug: 'greet' }).step({ slug: 'say' }, ({ name }) => 'hello ' + name)
`

const project = new SampleProject({ 'supabase/functions/_flows/greet.ts': FLOW })
let running: PseudoTerminal | undefined
afterEach(() => running?.kill())
afterAll(() => project.dispose())

function start(script: string, ...args: string[]): PseudoTerminal {
  running = new PseudoTerminal([...COMPILED, script, ...args], { cwd: project.root, env: { DATABASE_URL: undefined } })
  return running
}

describe('a question', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('is ended by %s, and the command with it', async (signal) => {
    const terminal = start(ASKING)
    await terminal.shows('Remove? [y/N] ')
    process.kill(Number(/process (\d+)/.exec(terminal.output)?.[1]), signal)
    expect(await terminal.ended()).toBe(130)
    expect(terminal.output).toContain('Stopping …')
  })

  test('is ended by Ctrl-C, which the terminal gives to whoever reads it', async () => {
    const terminal = start(ASKING)
    await terminal.shows('Remove? [y/N] ')
    terminal.type(CTRL.c)
    expect(await terminal.ended()).toBe(130)
  })

  test.each([
    ['y\r', true],
    ['\r', false],
    [CTRL.d, false],
  ])('that is answered with %j is answered %s', async (keys, answer) => {
    const terminal = start(ASKING)
    await terminal.shows('Remove? [y/N] ')
    terminal.type(keys)
    expect(await terminal.ended()).toBe(0)
    expect(terminal.output).toContain(`answered ${answer}`)
  })
})

test('functions generate that is stopped while it asks removes nothing', async () => {
  await project.generate()
  project.write('supabase/functions/_flows/greet.ts', FLOW.replace("slug: 'greet'", "slug: 'welcome'"))
  const before = project.files()
  const terminal = start(MAIN, 'functions', 'generate')
  await terminal.shows('Remove? [y/N] ')
  terminal.type(CTRL.c)
  expect(await terminal.ended()).toBe(130)
  expect(project.files()).toEqual(before)
})

describe('over a local database of other migrations', () => {
  const dataDir = join(project.root, '.starflow/dev')
  const readMark = () => project.read('.starflow/dev/postgres/PG_VERSION')

  beforeAll(async () => {
    await project.generate({ yes: true })
    const [baseline] = platformMigrations()
    project.write(`supabase/migrations/${baseline!.name}`, `${baseline!.sql}\n-- of another version`)
    const functionsDir = join(project.root, 'supabase/functions')
    const migrationsDir = join(project.root, 'supabase/migrations')
    await (await startStarflowPlatform({ dataDir, functionsDir, migrationsDir })).dispose()
    project.remove('supabase/migrations')
  })

  test.each([
    ['dev', ['dev']],
    ['demo', ['demo', '--limit', '1', '--data-dir', dataDir]],
  ])('%s that is stopped while it asks leaves it as it was', async (_name, args) => {
    const terminal = start(MAIN, ...args)
    await terminal.shows('create it again? [')
    terminal.type(CTRL.c)
    expect(await terminal.ended()).toBe(130)
    expect(readMark()).toMatch(/^17/)
    expect(findPostgres(join(dataDir, 'postgres'))).toBeUndefined()
  })
})
