import { NonRetryableError, RetryLater } from '@starflow/dsl'
import { expect, test, vi } from 'vitest'
import { classifyThread, type Thread } from './classify-thread.ts'
import { deliverToSlack } from './deliver-to-slack.ts'

const thread: Thread = {
  id: 't1',
  title: 'Deploy fails & hangs',
  body: 'secret body',
  author: '<mo>',
  url: 'https://f.test/t1',
}

async function deliver(answer: Response | undefined) {
  const fetch = vi.fn(async (_url: string, _init: RequestInit) => answer!)
  const logger = { info: vi.fn() }
  const webhookUrl = answer && 'https://hooks.test/1'
  const outcome = deliverToSlack(
    thread,
    { route: 'help', reason: 'names a problem' },
    {
      ...{ webhookUrl, fetch, logger, signal: new AbortController().signal },
    },
  )
  return { outcome, fetch, logger }
}

test.each([
  ['Deploy fails after upgrade', '', 'help'],
  ['How do I seed the database?', '', 'help'],
  ['I built a todo app', 'it crashed a lot', 'showcase'],
  ['Roadmap', 'My build is stuck', 'help'],
  ['Roadmap', 'Ideas for next year', 'discussion'],
])('a thread titled "%s" with body "%s" is routed to %s', (title, body, route) => {
  expect(classifyThread({ title, body }).route).toBe(route)
})

test('a thread is posted to the webhook, escaped for Slack', async () => {
  const { outcome, fetch } = await deliver(new Response('ok'))
  expect(await outcome).toEqual({ delivered: true })
  expect(JSON.parse(String(fetch.mock.calls[0]![1].body))).toEqual({
    text: '&lt;mo&gt; needs help: <https://f.test/t1|Deploy fails &amp; hangs>',
  })
})

test('without a webhook it logs identifiers only and posts nothing', async () => {
  const { outcome, fetch, logger } = await deliver(undefined)
  expect(await outcome).toEqual({ delivered: false })
  expect(fetch).not.toHaveBeenCalled()
  expect(JSON.stringify(logger.info.mock.calls)).toContain('t1')
  expect(JSON.stringify(logger.info.mock.calls)).not.toMatch(/secret body|Deploy fails/)
})

test('a rate limit is retried when Slack says, a dead webhook never, a server error as usual', async () => {
  const limited = await deliver(new Response('', { status: 429, headers: { 'retry-after': '7' } }))
  await expect(limited.outcome).rejects.toMatchObject({ delaySeconds: 7 })
  await expect(limited.outcome).rejects.toBeInstanceOf(RetryLater)
  await expect((await deliver(new Response('', { status: 404 }))).outcome).rejects.toBeInstanceOf(NonRetryableError)
  const broken = (await deliver(new Response('', { status: 503 }))).outcome
  await expect(broken).rejects.toThrow('Slack answered 503')
  await expect(broken).rejects.not.toBeInstanceOf(NonRetryableError)
})
