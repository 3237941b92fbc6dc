import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ROOT } from '../repository.ts'
import { parseSoakOptions } from './soak-options.ts'

test('kills, fences, rollouts, lost connections and restarts of Postgres end with every run terminal and nothing lost', async () => {
  const child = spawn('npm', ['run', '--silent', 'soak', '--', '--minutes', '0.3', '--json'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  child.stdout.on('data', (data: Buffer) => {
    stdout += data
  })
  const [exitCode] = (await once(child, 'close')) as [number | null]
  expect(JSON.parse(stdout)).toMatchObject({ isWell: true, broken: [], notes: [] })
  expect(JSON.parse(stdout).verdict).toMatchObject({ lost: 0, doubled: 0, stuck: 0, 'failed innocent': 0 })
  expect(JSON.parse(stdout).verdict.accepted).toBeGreaterThan(30)
  expect(exitCode).toBe(0)
}, 600_000)

test('the soak’s options have defaults, and a wrong one is told', () => {
  expect(parseSoakOptions([])).toMatchObject({ minutes: 10, json: false, keep: false })
  expect(parseSoakOptions(['--minutes', '0.5', '--seed', '7', '--json'])).toMatchObject({
    minutes: 0.5,
    seed: 7,
    json: true,
  })
  expect(parseSoakOptions(['--help'])).toBeUndefined()
  expect(() => parseSoakOptions(['--minutes', 'many'])).toThrow('--minutes is a number above 0, not "many".')
  expect(() => parseSoakOptions(['--sead', '7'])).toThrow('--sead')
})
