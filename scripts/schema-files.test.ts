import { expect, test } from 'vitest'
import { baselineMigration, firstDifference } from './baseline-migration.ts'
import { orderInBand } from './schema-files.ts'

test('a band loads types, tables, private helpers, then public functions', () => {
  expect(
    orderInBand(['start_flow.sql', '_ready.sql', '01_tables.sql', 'add_step.sql', '00_types.sql', '_a.sql']),
  ).toEqual(['00_types.sql', '01_tables.sql', '_a.sql', '_ready.sql', 'add_step.sql', 'start_flow.sql'])
})

test('the baseline names every schema file above its text, in the order given', () => {
  const text = baselineMigration([
    { path: '10_foundation/01_tables.sql', sql: 'create table a ();' },
    { path: '40_run/start_flow.sql', sql: 'select 1;' },
  ])
  expect(
    text
      .split('\n')
      .slice(0, 3)
      .every((line) => line.startsWith('-- ')),
  ).toBe(true)
  expect(text).toContain('-- 10_foundation/01_tables.sql\ncreate table a ();\n\n-- 40_run/start_flow.sql\nselect 1;\n')
})

test('the first line that differs is shown from both sides', () => {
  expect(firstDifference('a\nb\n', 'a\nc\n')).toBe('line 2\n  schemas:   b\n  migration: c')
  expect(firstDifference('a\n', 'a\n')).toBeUndefined()
})
