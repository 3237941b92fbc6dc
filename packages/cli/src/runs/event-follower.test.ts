import type { RunEvent } from '@starflow/engine'
import { expect, test } from 'vitest'
import { EventFollower } from './event-follower.ts'

const event = (id: string) => ({ id }) as RunEvent

test('a look that fails costs neither the work nor an event', async () => {
  let looks = 0
  let finish = () => {}
  const work = new Promise<string>((resolve) => {
    finish = () => resolve('done')
  })
  const readEvents = async (_runId: string, { afterId }: { afterId?: string | undefined } = {}) => {
    looks += 1
    if (looks === 1) throw new Error('the connection was lost')
    finish()
    return afterId === undefined ? [event('1'), event('2')] : []
  }
  const told: string[] = []
  const follower = new EventFollower({ readEvents }, 'run', (events) => void told.push(...events.map(({ id }) => id)))
  expect(await follower.during(work)).toBe('done')
  expect(told).toEqual(['1', '2'])
})
