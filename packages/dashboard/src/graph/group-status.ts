import type { StatusName } from '../design/status-look.ts'
import { formatCount } from '../format/count.ts'
import type { StepMark } from './StepGraph.tsx'
import type { GraphStep } from './step-graph.ts'

/** What a box says: of a step its state, of many steps where they stand together. */
export interface NodeMark extends StepMark {
  readonly words: string
}

/** Of several steps that are not all alike the first of these that one of them has is what a person should see. */
const MOST_TELLING: readonly StatusName[] = ['failed', 'waiting', 'started', 'created', 'completed', 'skipped']

/** Undefined where nothing is known, as in the picture of a flow. */
export function groupStatus(
  steps: readonly GraphStep[],
  marks: ReadonlyMap<string, StepMark> | undefined,
): NodeMark | undefined {
  const own = steps.flatMap(({ step }) => marks?.get(step) ?? [])
  const [first] = own
  if (first === undefined) return undefined
  if (steps.length === 1) {
    const { status, progress } = first
    const words =
      progress === null ? status : `${formatCount(progress.completed)} of ${formatCount(progress.total)} ${status}`
    return {
      ...first,
      words: progress !== null && status === 'completed' ? `${formatCount(progress.total)} ${status}` : words,
    }
  }
  const status = MOST_TELLING.find((each) => own.some((mark) => mark.status === each)) ?? first.status
  const count = own.filter((mark) => mark.status === status).length
  const completed = own.filter((mark) => mark.status === 'completed').length
  return {
    status,
    note: null,
    progress: { total: steps.length, completed },
    words: `${formatCount(count)} ${status}`,
  }
}
