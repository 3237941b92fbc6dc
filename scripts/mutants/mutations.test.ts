import { expect, test } from 'vitest'
import { mutantsOf } from './mutations.ts'

const changes = (file: string, source: string) => mutantsOf(file, source).map(({ line, after }) => `${line}: ${after}`)

test('conditions, locks and calls of SQL are changed one at a time, comments and strings are not', () => {
  const source = `-- a < b and c
begin
  perform pgflow._lock_flow(x);
  select 1 from t where a < b and not exists (select from u) for update;
  raise notice 'a < b';
end`
  expect(changes('a.sql', source)).toEqual([
    '3: ',
    '4: select 1 from t where a <= b and not exists (select from u) for update;',
    '4: select 1 from t where a < b or not exists (select from u) for update;',
    '4: select 1 from t where a < b and     exists (select from u) for update;',
    '4: select 1 from t where a < b and not exists (select from u)           ;',
  ])
})

test('comparisons, negations and calls of TypeScript are changed, types and texts are not', () => {
  const source = `export interface A { readonly a: 1 }
if (!done && count >= 2) return true
  this.#timer.stop()
const text = \`a && b\``
  expect(changes('a.ts', source)).toEqual([
    '2: if ( done && count >= 2) return true',
    '2: if (!done || count >= 2) return true',
    '2: if (!done && count > 2) return true',
    '2: if (!done && count >= 2) return false',
    '3: ',
  ])
})
