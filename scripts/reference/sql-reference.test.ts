import { expect, test } from 'vitest'
import { sqlReference } from './sql-reference.ts'

const file = (sql: string) => ({ path: '40_run/x.sql', sql })
const START = `
-- SF999 is told by somebody else.
create function pgflow.start_flow(
  flow_slug text, input jsonb default '{}')
returns setof pgflow.runs
language plpgsql
as $$ begin perform pgflow._check(flow_slug); perform pgflow.set_setting('a', null); end $$;
comment on function pgflow.start_flow(text, jsonb) is
  'Starts a run''s <first> step.';`
const CHECK = `create function pgflow._check(text) returns void language sql as $$ select pgflow._raise('SF201', 'no') $$`
const SETTING = `
create function pgflow.set_setting(key text, value text) returns void language sql as $$ select pgflow._raise('SF001'), pgflow._raise('SF701') $$;
comment on function pgflow.set_setting(text, text) is 'Sets.';`
const page = (...sql: string[]) => sqlReference(sql.map(file))

test('an entry has signature, comment, and the codes of all that it calls', () => {
  expect(page(START, CHECK, SETTING)).toContain(
    [
      '### start_flow',
      '',
      '```sql',
      "start_flow(flow_slug text, input jsonb default '{}')",
      '  returns setof pgflow.runs',
      '```',
      '',
      "Starts a run's \\<first> step.",
      '',
      'May raise [SF201](../errors/SF201.md), [SF701](../errors/SF701.md).',
    ].join('\n'),
  )
})

test('a bad argument is told of the function that is called with it, not of those that call that one', () => {
  expect(page(SETTING)).toContain('May raise [SF001](../errors/SF001.md), [SF701](../errors/SF701.md).')
})

test('a call in a quoted text is no call', () => {
  expect(page(START.replace("'a'", "'pgflow._check('"), CHECK, SETTING)).toContain('[SF201]')
  expect(page(START.replace('pgflow._check(flow_slug)', "'pgflow._check('"), CHECK, SETTING)).not.toContain('[SF201]')
})

test('what is private is left out, and nothing that is public', () => {
  expect(page(START, CHECK, SETTING)).not.toContain('### _check')
  const unknown = SETTING.replaceAll('set_setting', 'set_everything')
  expect(() => page(unknown)).toThrow('pgflow.set_everything has no topic')
  expect(() => page(START.replace(/comment on[\s\S]*/, ''))).toThrow('pgflow.start_flow has no comment')
})
