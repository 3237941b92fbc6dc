import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { starflow } from './support/run-starflow.ts'

describe('the command line', () => {
  test.each([
    ['an unknown command', ['nope'], '"starflow nope" is not a command.'],
    ['an unknown command of a noun', ['functions', 'nope'], '"starflow functions nope" is not a command.'],
    ['a noun alone', ['functions'], '"starflow functions" needs a command.'],
    ['nothing', [], '"starflow" needs a command.'],
  ])('%s is refused with the list of the known ones', async (_what, args, message) => {
    const { exitCode, stderr } = await starflow(...args)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(message)
    expect(stderr).toContain(
      args[0] === 'functions' ? 'starflow functions generate' : 'starflow functions, starflow flows',
    )
  })

  test('an unknown option is refused with the known ones', async () => {
    const { exitCode, stderr } = await starflow('functions', 'generate', '--nope')
    expect(exitCode).toBe(2)
    expect(stderr).toContain("'--nope'")
    expect(stderr).toContain('--check, --dry-run')
  })

  test('a refusal with --json is one JSON object', async () => {
    const { exitCode, stdout } = await starflow('functions', 'nope', '--json')
    expect(exitCode).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'SF610' } })
  })

  test.each([[['--help']], [['functions', '--help']], [['functions', 'generate', '--help']], [['dev', '--help']]])(
    '%j is answered with exit code 0',
    async (args) => {
      const { exitCode, stdout } = await starflow(...args)
      expect(exitCode).toBe(0)
      expect(stdout).toContain('Usage: starflow')
    },
  )

  test('--version is answered with the version of the package', async () => {
    const { exitCode, stdout } = await starflow('--version')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test('a hint can be pasted: it begins with npx', async () => {
    expect((await starflow('functions', 'nope')).stderr).toContain('See: npx starflow functions --help')
  })

  test('the starflow program runs without a build', () => {
    const program = fileURLToPath(new URL('../bin/starflow.mjs', import.meta.url))
    const { status, stdout } = spawnSync(process.execPath, [program, '--help'], { encoding: 'utf8' })
    expect(status).toBe(0)
    expect(stdout).toContain('functions')
  })
})
