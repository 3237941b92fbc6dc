import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '@starflow/core'
import type { Json } from '@starflow/dsl'
import type { EffectsInput } from './flows/soak-effects.ts'
import type { PoisonInput } from './flows/soak-poison.ts'
import type { ShapesInput } from './flows/soak-shapes.ts'
import type { Tally } from './tally.ts'

/** About so long between two batches of starts. */
const REST_MS = 700

/** @param accepted gets the ids, once the start is answered */
export async function startRuns(
  sql: Sql,
  accepted: Set<string>,
  flowSlug: string,
  inputs: readonly Json[],
): Promise<void> {
  const runs = await sql<{ run_id: string }[]>`
    select run_id from pgflow.start_flows(${flowSlug}, ${JSON.stringify(inputs)}::text::jsonb)`
  for (const run of runs) accepted.add(run.run_id)
}

/**
 * Starts runs of all flows in a steady stream, until it is told to stop; adds the ids of those that were accepted. A start that finds
 * no database is given up.
 */
export async function takeIn(
  sql: Sql,
  random: () => number,
  tally: Tally,
  accepted: Set<string>,
  stopped: AbortSignal,
): Promise<void> {
  const below = (limit: number) => Math.floor(random() * limit)
  while (!stopped.aborted) {
    const shapes: ShapesInput = { elements: below(6), ask: random() < 0.5, luck: below(100) }
    const effects: EffectsInput = { slowMs: 50 + below(1_500), ends: random() < 0.15 }
    const innocent: PoisonInput = { poison: null }
    const starts: [string, Json[]][] = [
      ['soakPoison', [{ ...innocent }]],
      ['soakShapes', [{ ...shapes }]],
      ['soakEffects', [{ ...effects }]],
      ['soakPlain', Array.from({ length: 1 + below(3) }, () => ({ n: below(1_000) }))],
    ]
    for (const [flowSlug, inputs] of starts) {
      try {
        await startRuns(sql, accepted, flowSlug, inputs)
      } catch {
        tally.add('starts refused by a lost connection')
      }
    }
    await sleep(REST_MS * (0.5 + random()), undefined, { signal: stopped }).catch(() => {})
  }
}
