import { Flow } from '@starflow/dsl'

/** What a handler does to the process that it shares with others; `innocent` leaves it alone. */
export type Poison = 'innocent' | 'forgotten' | 'timer' | 'listener' | 'late' | 'exit'

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** One step, whose handler does what its input says. */
export function poisonFlow(slug: string) {
  const options = { slug, maxAttempts: 2, baseDelay: 0, timeout: 3 }
  return new Flow<{ kind: Poison; ms?: number }>(options).step({ slug: 'work' }, async ({ kind, ms = 100 }, ctx) => {
    ctx.logger.info('began', kind)
    if (kind === 'forgotten') void Promise.reject(new Error('a forgotten await'))
    if (kind === 'timer') setTimeout(() => failWith('a timer'), 0)
    if (kind === 'late') void sleep(ms).then(() => failWith('much too late'))
    if (kind === 'exit') process.exit(3)
    if (kind === 'listener') ctx.signal.addEventListener('abort', () => failWith('a listener'))
    if (kind === 'innocent' || kind === 'late') return await sleep(kind === 'late' ? 0 : ms).then(() => 'done')
    return await new Promise(() => {})
  })
}

function failWith(message: string): never {
  throw new Error(message)
}
