import { readJsonText } from '../../api/read-json-text.ts'
import type { WorkspaceScope } from '../../api/scope.ts'
import { type JsonFields, type JsonValue, parseJson } from '../../json/json-value.ts'

/** A null that is longer than null is a value that did not come along: it is large. */
const NULL_BYTES = 4

/** A value that came along with a run; undefined where it has to be asked for by itself. */
export function inlineValue(value: unknown, bytes: number): JsonValue | undefined {
  return value === null && bytes > NULL_BYTES ? undefined : (value as JsonValue)
}

export async function loadRunValue(
  scope: WorkspaceScope,
  runId: string,
  which: 'input' | 'output',
  signal: AbortSignal,
): Promise<JsonValue> {
  return (await loadFields(`/api/runs/${runId}/${which}`, scope, signal))[which]!
}

/** The output of a step; with a task that of one element of a map. */
export async function loadStepOutput(
  scope: WorkspaceScope,
  runId: string,
  step: string,
  task: number | undefined,
  signal: AbortSignal,
): Promise<JsonValue> {
  const query = task === undefined ? '' : `?task=${task}`
  return (await loadFields(`/api/runs/${runId}/steps/${encodeURIComponent(step)}/output${query}`, scope, signal))
    .output!
}

async function loadFields(path: string, scope: WorkspaceScope, signal: AbortSignal): Promise<JsonFields> {
  return parseJson(await readJsonText(path, scope, signal)) as JsonFields
}
