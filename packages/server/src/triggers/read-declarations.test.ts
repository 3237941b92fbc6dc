import { expect, test } from 'vitest'
import { readDeclarations } from './read-declarations.ts'

const problemsOf = (text: string) =>
  readDeclarations(text).problems.map(({ line, column, message }) => `${line}:${column} ${message}`)

test('a file declares triggers, webhooks and pools, with the defaults filled in', () => {
  const { declarations, problems } = readDeclarations(`
triggers:
  nightly:
    cron: 0 3 * * *
    timeZone: Europe/Berlin
    flow: reportV1
    pool: heavy
webhooks:
  github:
    flow: ciV1
    signature: { scheme: github, secrets: [GITHUB_WEBHOOK_SECRET] }
    when:
      - { header: X-GitHub-Event, in: [push] }
    input:
      commit: { $from: /body/after }
pools:
  heavy: { concurrency: 2 }
`)
  expect(problems).toEqual([])
  expect(declarations).toEqual({
    triggers: {
      nightly: {
        ...{ cron: '0 3 * * *', timeZone: 'Europe/Berlin', flow: 'reportV1', pool: 'heavy', env: 'prod', input: {} },
        ...{ catchUp: 'last', catchUpLimit: 10, overlap: 'allow' },
      },
    },
    webhooks: {
      github: {
        ...{ flow: 'ciV1', env: 'prod', signature: { scheme: 'github', secrets: ['GITHUB_WEBHOOK_SECRET'] } },
        ...{ when: [{ header: 'x-github-event', in: ['push'] }], input: { commit: { $from: '/body/after' } } },
      },
    },
    pools: { heavy: { concurrency: 2 } },
  })
})

test('an empty file declares nothing', () => {
  expect(readDeclarations('# nothing yet\n').declarations).toEqual({ triggers: {}, webhooks: {}, pools: {} })
})

test('every problem is told at once, each with its line and column', () => {
  expect(
    problemsOf(`triggers:
  nightly:
    cron: 0 25 * * *
    timeZone: Europe/Atlantis
    catchUp: maybe
  "two words":
    cron: every day
    flow: 7
    queue: fast
webhooks:
  open:
    flow: ciV1
  odd:
    flow: ciV1
    signature: { scheme: rot13, secrets: [A_SECRET] }
  leaky:
    flow: ciV1
    signature:
      scheme: hmac
      secrets: [hunter2]
      header: x-signature
    input:
      who: { $from: /headers/authorization }
      what: { $from: body.action }
`),
  ).toEqual([
    '2:3 triggers.nightly.flow: is missing.',
    expect.stringMatching(/^3:5 triggers\.nightly\.cron: is not a cron pattern \(.*\)\.$/),
    '4:5 triggers.nightly.timeZone: must be a time zone of the IANA database, for example Europe/Berlin.',
    '5:5 triggers.nightly.catchUp: must be one of none, last, all.',
    '6:3 triggers.two words: a name has letters, digits, dots, hyphens and underscores, 64 at most.',
    '7:5 triggers.two words.cron: must have five fields, or six with seconds first.',
    '8:5 triggers.two words.flow: must be string, received number.',
    '9:5 triggers.two words.queue: is not known here.',
    '11:3 webhooks.open.signature: is missing.',
    '15:18 webhooks.odd.signature.scheme: must be one of github, stripe, slack, standard-webhooks, hmac.',
    '20:17 webhooks.leaky.signature.secrets.0: must be the name of an environment variable, not a secret.',
    '23:14 webhooks.leaky.input.who.$from: must be a JSON pointer into /body, or /headers/<name>, /delivery or /receivedAt; no header that carries a secret.',
    '24:15 webhooks.leaky.input.what.$from: must be a JSON pointer into /body, or /headers/<name>, /delivery or /receivedAt; no header that carries a secret.',
  ])
})

test('what is no YAML, and a name that is there twice, is told with its place', () => {
  expect(problemsOf('triggers:\n  a: {\n')).toEqual([expect.stringMatching(/^\d:\d .+\.$/)])
  expect(problemsOf('pools:\n  a: {}\n  a: {}\n')).toEqual([expect.stringMatching(/^3:3 .*unique.*\.$/)])
})

test('a pattern that never comes is refused', () => {
  expect(problemsOf('triggers:\n  never:\n    cron: 0 0 30 2 *\n    flow: reportV1\n')).toEqual([
    '3:5 triggers.never.cron: never comes.',
  ])
})

test('an input that no store can keep is refused where it stands', () => {
  expect(
    problemsOf(`triggers:
  nightly:
    cron: 0 3 * * *
    flow: reportV1
    input:
      whole: fine
      lines: [a, "b\\0c"]
webhooks:
  own:
    flow: ciV1
    signature: { scheme: github, secrets: [A_SECRET] }
    input:
      who: { $from: /body/who, $default: "half \\uD83D of a pair" }
`),
  ).toEqual([
    '7:18 triggers.nightly.input.lines.1: has text that cannot be kept: a NUL, or half of a surrogate pair.',
    '13:32 webhooks.own.input.who.$default: has text that cannot be kept: a NUL, or half of a surrogate pair.',
  ])
})
