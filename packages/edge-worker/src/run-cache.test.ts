import { describe, expect, it } from 'vitest'
import { RunCache } from './run-cache.ts'

describe('RunCache', () => {
  it('shares one load among the tasks of a run', async () => {
    const cache = new RunCache<number>()
    let loads = 0
    const load = async () => ++loads
    expect(await Promise.all([cache.get('a', load), cache.get('a', load)])).toEqual([1, 1])
  })

  it('forgets the least recently used run beyond its limit', async () => {
    const cache = new RunCache<string>(2)
    const loads: string[] = []
    const get = (runId: string) =>
      cache.get(runId, async () => {
        loads.push(runId)
        return runId
      })
    for (const runId of ['a', 'b', 'a', 'c', 'a', 'b']) await get(runId)
    expect(cache.size).toBe(2)
    expect(loads).toEqual(['a', 'b', 'c', 'b'])
  })

  it('asks again after a failed load', async () => {
    const cache = new RunCache<number>()
    await expect(cache.get('a', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
    expect(await cache.get('a', async () => 7)).toBe(7)
  })
})
