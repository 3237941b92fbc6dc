import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { encodeCursor } from '../src/runs/page-cursor.ts'
import { testServer, testStorage } from './support/test-servers.ts'

const queued = withStepQueues(new Flow<object>({ slug: 'nonsenseV1' }).step({ slug: 'a' }, () => 1))
const supabase = await testStorage('supabase')
await new StarflowSql(supabase.database!.sql).ensureFlowCompiled({
  ...{ flowSlug: 'nonsenseV1', shape: extractFlowShape(queued.flow), queueMode: 'step', routeMap: queued.routes },
})

const NONSENSE = [
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1.5',
    '1e9',
    '9'.repeat(40),
    'NaN',
    'true',
    'null',
    '*',
    '%',
    "'",
    "' or 1=1 --",
    '\\',
    '"',
    '[',
    '(a+)+$',
  ],
  ...['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59', '2026-02-30T00:00:00Z'],
  ...[
    '2026-01-01T24:00:00Z',
    '+275760-09-13T00:00:00Z',
    '-271821-04-20T00:00:00Z',
    'infinity',
    'now',
    '𝒳',
    'x'.repeat(2000),
  ],
  ...[{ queue: 'x' }, { runner: "'" }, { queue: '', runner: '' }, { queue: encodeCursor({ queue: 'x' }) }].map(
    encodeCursor,
  ),
  ...['["0000-01-01T00:00:00Z","x"]', '{"at":"x"}', '[]', 'null'].flatMap((text) => {
    const inner = Buffer.from(text).toString('base64url')
    return [
      encodeCursor({ queue: inner }),
      encodeCursor({ runner: inner }),
      encodeCursor({ queue: text, runner: text }),
    ]
  }),
]

/** In the URL as they are: half of a surrogate pair, a byte that begins nothing, and what encodes none. */
const MALFORMED = ['%ED%A0%80', '%FF', '%', '%zz']

describe.each(['sqlite', 'supabase'] as const)('a request with nonsense in it, on %s,', async (substrate) => {
  const server = await testServer(substrate === 'supabase' ? supabase : await testStorage('sqlite'))
  const shop = await server.workspace('shop')
  const { runId } = (await shop.post('/api/runs', { flow: 'greetV1', input: { name: 'Ana' } })).body
  const { paths } = (await server.nobody.get('/api/openapi.json')).body as {
    paths: Record<string, Record<string, { parameters?: { in: string; name: string }[] }>>
  }
  const questions = Object.entries(paths).flatMap(([path, { get }]) => {
    const named = (get?.parameters ?? []).filter((parameter) => parameter.in === 'query' || parameter.in === 'path')
    // A stream has no end of its own.
    return path === '/api/live'
      ? []
      : named.map((parameter) => [`${parameter.name} of ${path}`, path, parameter] as const)
  })

  test.each(questions)(
    'is answered or refused by a code, and is no failure of the server: %s',
    { timeout: 120_000 },
    async (_, path, { in: place, name }) => {
      const asked = server.operator.with({ 'starflow-workspace': 'shop' })
      const answers = await Promise.all(
        [...NONSENSE.map(encodeURIComponent), ...MALFORMED].map(async (text) => {
          const filled = path.replaceAll(/\{(\w+)\}/g, (_all, key) => {
            if (place === 'path' && key === name) return text
            return key === 'runId' ? runId : 'a'
          })
          return { text, ...(await asked.get(place === 'query' ? `${filled}?${name}=${text}` : filled)) }
        }),
      )
      const found = answers.filter(
        ({ status, body }) => status !== 200 && !(status >= 400 && status < 500 && /^SF\d{3}$/.test(body.error?.code)),
      )
      expect(found).toEqual([])
    },
  )
})
