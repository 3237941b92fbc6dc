import { None } from '../../design/None.tsx'
import type { CpuPerTask } from './cpu-per-task.ts'

/** CPU per task in a cell of a table: the figure, or a dash, and what there is to say about it when it is pointed at. */
export function CpuFigure({ of: { figure, meaning } }: { readonly of: CpuPerTask }) {
  return figure === null ? <None why={meaning} /> : <span title={meaning}>{figure}</span>
}
