import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { DEFAULT_API_SETTINGS, readApiSettings } from './api-settings.ts'

const settingsOf = (text: string) => readApiSettings(join(temporaryFolder({ 'config.toml': text }), 'config.toml'))

test('the section [api] of config.toml says which schemas are served', () => {
  expect(
    settingsOf('project_id = "x"\n[api]\nschemas = ["public", "pgflow"]\nextra_search_path = []\nmax_rows = 5\n'),
  ).toEqual({ schemas: ['public', 'pgflow'], extraSearchPath: [], maxRows: 5 })
})

test('what it does not say is as on a new project', () => {
  expect(settingsOf('project_id = "x"\n')).toEqual(DEFAULT_API_SETTINGS)
  expect(readApiSettings('/no/such/config.toml')).toEqual(DEFAULT_API_SETTINGS)
  expect(settingsOf('[api]\nport = 54321\nmax_rows = 7\n')).toEqual({ ...DEFAULT_API_SETTINGS, maxRows: 7 })
})

test.each([
  ['no TOML', '[api', /line|TOML|parse/i],
  ['a section that is none', 'api = 1', /section/],
  ['schemas that are no list', '[api]\nschemas = "public"', /schemas is a list/],
  ['no schema', '[api]\nschemas = []', /schemas is a list/],
  ['two mistakes', '[api]\nschemas = [1]\nmax_rows = "all"', /schemas .* and max_rows/],
])('%s is SF523, with every mistake', (_what, text, detail) => {
  expect(() => settingsOf(text)).toThrow(
    expect.objectContaining({ code: 'SF523', detail: expect.stringMatching(detail) }),
  )
})
