/** A refusal of the API, in the form that every one has. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly detail: string | undefined
  readonly hint: string | undefined
  /** Finds the request in the log of the server. */
  readonly requestId: string | undefined

  constructor(status: number, refusal: Refusal) {
    super(refusal.message)
    this.status = status
    this.code = refusal.code
    this.detail = refusal.detail
    this.hint = refusal.hint
    this.requestId = refusal.requestId
  }
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly detail?: string | undefined
  readonly hint?: string | undefined
  readonly requestId?: string | undefined
}

/** What any thrown value has to say to a person. */
export interface ErrorText {
  readonly title: string
  readonly detail: string | undefined
  readonly hint: string | undefined
  /** The code of the error and the id of the request, for whoever looks further. */
  readonly reference: string | undefined
}

/** The refusal that an answer carries; an answer of something in between says only its status. */
export function refusalOf(status: number, body: unknown): ApiError {
  if (isRefusal(body)) return new ApiError(status, body.error)
  return new ApiError(status, {
    code: `HTTP ${status}`,
    message: `The server answered with status ${status}.`,
    hint: 'Look at what stands between this page and the server: a proxy, or another program on its port.',
  })
}

export function errorText(error: unknown): ErrorText {
  if (error instanceof ApiError) {
    const { message, detail, hint, code, requestId } = error
    return { title: message, detail, hint, reference: [code, requestId].filter(Boolean).join(' · ') }
  }
  // What fetch throws when nothing answers is a TypeError, in other words in each browser.
  if (error instanceof TypeError) {
    return {
      title: 'The server cannot be reached.',
      detail: 'Nothing answered this request.',
      hint: 'The page tries again by itself. Look whether the server runs.',
      reference: undefined,
    }
  }
  return {
    title: 'This page has a defect.',
    detail: error instanceof Error ? error.message : String(error),
    hint: 'Load it again; if that does not help, report it.',
    reference: undefined,
  }
}

/** Nobody is signed in, or no longer. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

function isRefusal(body: unknown): body is { error: Refusal } {
  if (typeof body !== 'object' || body === null || !('error' in body)) return false
  const { error } = body
  return typeof error === 'object' && error !== null && 'code' in error && 'message' in error
}
