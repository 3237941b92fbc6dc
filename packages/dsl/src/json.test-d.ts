import { describe, expectTypeOf, it } from 'vitest'
import type { InputPattern, Json, Jsonified } from './index.ts'

interface Link {
  target: string
  title?: string
}

describe('Jsonified', () => {
  it('leaves JSON as it is', () => {
    expectTypeOf<Jsonified<Json>>().toEqualTypeOf<Json>()
    expectTypeOf<Jsonified<'help' | 1 | null>>().toEqualTypeOf<'help' | 1 | null>()
    expectTypeOf<Jsonified<{ a: [number, string] }>>().toEqualTypeOf<{ a: [number, string] }>()
    expectTypeOf<Jsonified<Link[]>>().toEqualTypeOf<Link[]>()
    expectTypeOf<Jsonified<unknown>>().toEqualTypeOf<unknown>()
  })

  it('makes nothing null, and a Date a string', () => {
    expectTypeOf<Jsonified<undefined>>().toEqualTypeOf<null>()
    expectTypeOf<Jsonified<string | undefined>>().toEqualTypeOf<string | null>()
    expectTypeOf<Jsonified<(Date | undefined)[]>>().toEqualTypeOf<(string | null)[]>()
    expectTypeOf<Jsonified<{ at?: Date }>>().toEqualTypeOf<{ at?: string | undefined }>()
  })
})

describe('InputPattern', () => {
  it('is a deep part', () => {
    expectTypeOf<InputPattern<{ a: { b: string; c: number[] } }>>().toEqualTypeOf<{
      readonly a?: { readonly b?: string; readonly c?: readonly number[] }
    }>()
  })
})
