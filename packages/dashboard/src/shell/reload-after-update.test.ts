import { expect, test } from 'vitest'
import { reloadAfterUpdate } from './reload-after-update.ts'

test('a page whose parts are gone is loaded anew, and not again and again', () => {
  const page = new EventTarget()
  const kept = new Map<string, string>()
  let [reloads, now] = [0, 1_000_000]
  reloadAfterUpdate({
    page,
    reload: () => reloads++,
    memory: () => ({ getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value) }),
    now: () => now,
  })
  const lack = () => page.dispatchEvent(new Event('vite:preloadError', { cancelable: true }))
  // False: whoever asked for the part is not told of an error.
  expect(lack()).toBe(false)
  expect(reloads).toBe(1)
  expect(lack()).toBe(true)
  expect(reloads).toBe(1)
  now += 60_000
  lack()
  expect(reloads).toBe(2)
})
