import type { Page } from './page-statement.ts'
import { appliedPreferences } from './preferences.ts'
import type { RestRequest } from './rest-request.ts'

export interface RestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Rows that were read: 206 where a count tells that there are more. */
export function rowsAnswer(request: RestRequest, page: Page, offset: number): RestAnswer {
  const status = page.total !== undefined && page.rowCount < page.total ? 206 : 200
  return withBody(request, status, contentRange(offset, page.rowCount, page.total), page.body)
}

/** A result that is one value or object, not rows. */
export function valueAnswer(request: RestRequest, body: string): RestAnswer {
  return withBody(request, 200, undefined, body)
}

/** Rows that were written, and asked for. */
export function writtenAnswer(request: RestRequest, page: Page): RestAnswer {
  return withBody(request, request.method === 'POST' ? 201 : 200, writtenRange(request, page.total ?? 0), page.body)
}

/** Nothing to show. */
export function emptyAnswer(request: RestRequest, writtenCount?: number): RestAnswer {
  const isCreation = request.method === 'POST' && request.target.kind === 'table'
  const range = writtenCount === undefined ? undefined : writtenRange(request, writtenCount)
  return { status: isCreation ? 201 : 204, headers: headersOf(request, range), body: '' }
}

function withBody(request: RestRequest, status: number, range: string | undefined, body: string): RestAnswer {
  const headers = {
    ...headersOf(request, range),
    'content-type': `${request.mediaType.name}; charset=utf-8`,
    'content-profile': request.schema,
  }
  return { status, headers, body: request.method === 'HEAD' ? '' : body }
}

function headersOf({ preferences }: RestRequest, range: string | undefined): Record<string, string> {
  const applied = appliedPreferences(preferences)
  return {
    ...(range === undefined ? {} : { 'content-range': range }),
    ...(applied === undefined ? {} : { 'preference-applied': applied }),
  }
}

function writtenRange({ method, preferences }: RestRequest, count: number): string {
  return contentRange(0, method === 'PATCH' ? count : 0, preferences.count === undefined ? undefined : count)
}

function contentRange(offset: number, rowCount: number, total: number | undefined): string {
  const rows = rowCount === 0 ? '*' : `${offset}-${offset + rowCount - 1}`
  return `${rows}/${total ?? '*'}`
}
