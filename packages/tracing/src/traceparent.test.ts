import { expect, it } from 'vitest'
import { isTraceparent, spanContextOf, traceparentOf } from './traceparent.ts'

const [TRACE, SPAN] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']

it('a traceparent is read and written as it is', () => {
  const text = `00-${TRACE}-${SPAN}-01`
  expect(spanContextOf(text)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true })
  expect(traceparentOf(spanContextOf(text)!)).toBe(text)
})

it('a later version is read as far as it is known, and flags that are not known are left out', () => {
  expect(spanContextOf(`cc-${TRACE}-${SPAN}-03-more`)).toMatchObject({ traceId: TRACE, traceFlags: 1 })
})

it.each([
  ...['', 'nothing', `00-${TRACE}-${SPAN}`, `ff-${TRACE}-${SPAN}-01`, `00-${'0'.repeat(32)}-${SPAN}-01`],
  ...[
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-${'x'.repeat(99)}`,
  ],
  ...[null, undefined],
])('%s is none', (text) => {
  expect(isTraceparent(text)).toBe(false)
  expect(spanContextOf(text)).toBeUndefined()
})
