import { refusalOf } from './api-error.ts'
import { scopeHeader, type WorkspaceScope } from './scope.ts'

/**
 * The text of an answer as it is: what reads it as JSON would round its large numbers.
 *
 * @throws ApiError what the server refuses
 */
export async function readJsonText(path: string, scope: WorkspaceScope, signal: AbortSignal): Promise<string> {
  const response = await fetch(path, { headers: scopeHeader(scope), signal })
  const text = await response.text()
  if (response.ok) return text
  let refusal: unknown
  try {
    refusal = JSON.parse(text)
  } catch {
    // Not of the API: refusalOf says so.
  }
  throw refusalOf(response.status, refusal)
}
