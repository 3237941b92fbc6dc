import { expect, test } from 'vitest'
import { typescriptReference } from './typescript-reference.ts'

const SOURCES: Readonly<Record<string, string>> = {
  'index.ts': `export { Flow, start, type FlowOptions } from './flow.ts'\nexport * from './platform.ts'\n`,
  'flow.ts': `
/** A flow: a typed graph. Immutable. */
export class Flow {}
/** Starts it, e.g. at once. Never twice. */
export function start(flow: Flow, { at }: { at: Date }, by = 'me') {}
export interface FlowOptions {}
export const internal = 1
`,
  'platform.ts': `/** Whether it runs. */\nexport type Runs = boolean\nconst hidden = 1\n`,
}
const page = typescriptReference([{ name: '@x/dsl', purpose: 'Flows.', readSource: (file) => SOURCES[file] as string }])

test('the exports of an index are listed with the first sentence of their comments, and nothing else', () => {
  expect(page).toContain(
    [
      '## @x/dsl\n\nFlows.\n',
      '| value | |\n|---|---|',
      '| `class Flow` | A flow: a typed graph. |',
      '| `start(flow, options, by?)` | Starts it, e.g. at once. |\n',
      '| type | |\n|---|---|',
      '| `Runs` | Whether it runs. |\n',
      'Also `FlowOptions`.\n',
    ].join('\n'),
  )
  expect(page).not.toMatch(/internal|hidden/)
})

test('a name that its file does not declare is an error', () => {
  const readSource = (file: string) => (file === 'index.ts' ? `export { gone } from './flow.ts'` : '')
  expect(() => typescriptReference([{ name: 'x', purpose: '', readSource }])).toThrow('flow.ts does not declare gone.')
})
