import { randomUUID } from 'node:crypto'
import type { FencedFunction } from '@starflow/core/operations'
import { type Confirmations, whileHeld } from '../operations/fence-hold.ts'
import type { Output } from '../output/output.ts'

export interface GuardedDeployment {
  readonly databaseUrl: string
  readonly functionNames: readonly string[]
  /** Under this name the functions are fenced. The same name may go on where a killed one has stopped. */
  readonly fencedBy: string
  /** What an overlapping command shows: the fence's name and the person. */
  readonly heldBy: string
  readonly signal: AbortSignal
  readonly output: Output
}

/**
 * Does `work` while worker functions are fenced, and restores what the fence recorded whether it succeeds or fails. Killed
 * in between, it leaves the record: the next one of that name keeps it and restores it.
 *
 * @returns what was restored
 * @throws StarflowError SF632 an overlapping one, SF421 a fence of another person, SF422, SF637; NeverBegun; and what `work`
 * throws
 */
export async function whileFenced(
  { databaseUrl, signal, output, ...hold }: GuardedDeployment,
  work: (signal: AbortSignal, confirmations: Confirmations) => Promise<void>,
): Promise<readonly FencedFunction[]> {
  return await whileHeld(
    {
      ...{ url: databaseUrl, signal },
      hold: { ...hold, holdId: randomUUID() },
      onWaiting: (holds) =>
        output.line(
          `waiting   until it is clear whether ${holds.map((each) => each.heldBy).join(', ')} is still at work`,
        ),
      onFenced: () => output.line(`fenced    ${hold.functionNames.join(', ')}`),
    },
    work,
  )
}
