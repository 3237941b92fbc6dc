import type { ErrorCode } from '@starflow/errors'

/** The HTTP status of a refusal. What is not here is none that a caller could mend: 500. */
const ERROR_STATUS: Readonly<Partial<Record<ErrorCode, 400 | 401 | 403 | 404 | 409 | 413 | 415 | 422 | 429 | 503>>> = {
  SF001: 400,
  SF106: 400,
  SF107: 404,
  SF201: 404,
  SF202: 409,
  SF203: 422,
  SF206: 503,
  SF207: 403,
  SF208: 403,
  SF209: 404,
  SF403: 503,
  SF421: 409,
  SF422: 404,
  SF632: 409,
  SF801: 409,
  SF802: 404,
  SF803: 503,
  SF821: 503,
  SF902: 400,
  SF903: 401,
  SF904: 403,
  SF905: 400,
  SF906: 429,
  SF907: 413,
  SF908: 404,
  SF909: 403,
  SF910: 409,
  SF911: 503,
  SF921: 404,
  SF922: 403,
  SF923: 422,
  SF924: 415,
  SF941: 503,
  SF942: 503,
  SF943: 409,
  SF944: 404,
}

export function statusOf(code: ErrorCode): number {
  return ERROR_STATUS[code] ?? 500
}
