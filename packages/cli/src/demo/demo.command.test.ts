import { expect, test } from 'vitest'
import { parseLimit, refuseLostOptions, refuseUnknownWord } from './demo.command.ts'

test('a limit is a whole number from 1 on', () => {
  expect(parseLimit('20')).toBe(20)
  expect(parseLimit(undefined)).toBeUndefined()
})

test.each(['0', '-1', '1.5', 'many', '', '1e3', '99999999999999999999'])('a limit of "%s" is refused', (text) => {
  expect(() => parseLimit(text)).toThrow(expect.objectContaining({ code: 'SF001' }))
})

test.each([
  [{ npm_config_chaos: 'true', npm_config_limit: 'true' }, ['10'], 'npm run demo -- --limit 10 --chaos'],
  [{ npm_config_limit: '10' }, [], 'npm run demo -- --limit 10'],
  [
    { npm_config_docs: 'true', npm_config_data_dir: 'true' },
    ['./docs', 'x'],
    'npm run demo -- --docs ./docs --data-dir x',
  ],
])('options that npm took are named, and how to give them', (env, args, command) => {
  expect(() => refuseLostOptions({ npm_lifecycle_event: 'demo', ...env }, args)).toThrow(
    expect.objectContaining({ code: 'SF610', hint: expect.stringContaining(command) }),
  )
})

test('what npm holds for another script, and no option at all, is fine', () => {
  expect(() => refuseLostOptions({ npm_lifecycle_event: 'test', npm_config_limit: '10' }, [])).not.toThrow()
  expect(() => refuseLostOptions({ npm_lifecycle_event: 'demo' }, [])).not.toThrow()
})

test('a misspelt search is answered with the right one', () => {
  const hint = (...args: string[]) => {
    try {
      refuseUnknownWord(args)
    } catch (error) {
      return (error as { hint: string }).hint
    }
    return undefined
  }
  expect(hint('serach', 'foo', 'bar')).toContain('search "foo bar"')
  expect(hint('pool')).toContain('search "pool"')
  expect(hint()).toBeUndefined()
})
