import { JsonPayload } from '../../json/JsonPayload.tsx'
import { useScope } from '../../shell/use-scope.ts'
import type { RunDetail } from './run-queries.ts'
import { inlineValue, loadRunValue } from './run-values.ts'

/** What a run was given, or what came of it, where there is such a value. */
export function RunValue({
  run,
  which,
  bytes,
}: {
  readonly run: RunDetail
  readonly which: 'input' | 'output'
  readonly bytes: number
}) {
  const scope = useScope()
  return (
    <JsonPayload
      title={which === 'input' ? 'Input' : 'Output'}
      fileName={`${run.flow}-${run.runId.slice(-12)}-${which}`}
      bytes={bytes}
      value={inlineValue(run[which], bytes)}
      load={(signal) => loadRunValue(scope, run.runId, which, signal)}
      loadKey={[run.runId, which, run.endedAt]}
    />
  )
}
