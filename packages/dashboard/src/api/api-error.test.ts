import { describe, expect, test } from 'vitest'
import { ApiError, errorText, isSignedOut, refusalOf } from './api-error.ts'

describe('a refusal', () => {
  test('keeps code, message, detail, hint and the id of the request', () => {
    const body = { error: { code: 'SF421', message: 'm', detail: 'd', hint: 'h', requestId: 'r' } }
    expect(refusalOf(409, body)).toMatchObject({ status: 409, code: 'SF421', message: 'm', detail: 'd', hint: 'h' })
    expect(errorText(refusalOf(409, body))).toEqual({ title: 'm', detail: 'd', hint: 'h', reference: 'SF421 · r' })
  })

  test.each([undefined, '', '<html>', {}, { error: 'no' }, null])(
    'that is not of the API (%j) says its status and where to look',
    (body) => {
      expect(errorText(refusalOf(502, body))).toMatchObject({ title: 'The server answered with status 502.' })
    },
  )

  test('with status 401 means that nobody is signed in', () => {
    expect(isSignedOut(new ApiError(401, { code: 'SF903', message: '' }))).toBe(true)
    expect(isSignedOut(new ApiError(403, { code: 'SF904', message: '' }))).toBe(false)
    expect(isSignedOut(new TypeError('Failed to fetch'))).toBe(false)
  })
})

test('a request that nothing answered is told in our words, not in those of the browser', () => {
  expect(errorText(new TypeError('NetworkError when attempting to fetch')).title).toBe('The server cannot be reached.')
})

test('anything else is a defect of the page, with what it says', () => {
  expect(errorText(new RangeError('boom'))).toMatchObject({ title: 'This page has a defect.', detail: 'boom' })
  expect(errorText('boom').detail).toBe('boom')
})
