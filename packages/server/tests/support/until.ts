import { setTimeout as pause } from 'node:timers/promises'

/** Asks again and again until the answer is what is waited for. */
export async function until<T>(ask: () => Promise<T>, isIt: (answer: T) => boolean, forMs = 20_000): Promise<T> {
  const deadline = Date.now() + forMs
  for (;;) {
    const answer = await ask()
    if (isIt(answer)) return answer
    if (Date.now() > deadline) throw new Error(`Never came: ${JSON.stringify(answer)}`)
    await pause(20)
  }
}
